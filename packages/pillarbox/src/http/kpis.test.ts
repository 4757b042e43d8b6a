import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { sampleCompletion } from '../../../../test/support/samples.ts'
import type { Completion } from '../dispatch/dispatch-store.ts'
import { type Fixture, openFixture } from './fixture.ts'

interface Numbers {
  [name: string]: number | null | object
}
interface KpiAnswer {
  at: string
  range?: { from: string; to: string }
  total: Numbers
  groups?: (Numbers & { channel?: string; site?: string | null; tenantId?: string })[]
}

for (const { engine, open } of ENGINES)
  describe(`numbers on ${engine}`, () => {
    let f: Fixture
    let counter = 0
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    /** A tenant with an account, and ways to let notifications happen to it. */
    async function setup() {
      const tenant = await f.tenant(`numbers-${++counter}`)
      const account = await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', {
        channel: 'email',
        provider: 'sandbox',
        name: 'main',
      })
      const accountId = account.json().id
      const submit = async (changes: object = {}): Promise<string> => {
        const body = { channel: 'email', to: { email: 'ada@example.test' }, subject: 'S', body: 'B', ...changes }
        return (await f.call(tenant.keys.publisher, 'POST', '/api/notifications', body)).json().id
      }
      const workerId = f.deps.ids()
      await f.store.workers.register({ id: workerId, host: 'mill', pid: 7, version: '1.2.3', channels: null })
      /** What the one that is due longest comes to. */
      const settle = async (to: Completion['to'], changes: Partial<Completion> = {}): Promise<void> => {
        const answer = await f.store.dispatch.claim(workerId, [{ accountId, limit: 1 }])
        assert.ok(!answer.fenced)
        for (const claim of answer.claims) {
          const { notificationId, token, attempt } = claim
          const result = { notificationId, accountId, token, attempt, counted: claim, provider: 'sandbox', to }
          await f.store.dispatch.complete(workerId, [sampleCompletion({ ...result, ...changes })])
        }
      }
      const kpis = async (query = '', key = tenant.keys.viewer): Promise<KpiAnswer> => {
        const answer = await f.call(key, 'GET', `/api/kpis${query}`)
        assert.equal(answer.statusCode, 200, answer.body)
        return JSON.parse(answer.body) as KpiAnswer
      }
      return { tenant, accountId, submit, settle, kpis, workerId }
    }

    it('tell a viewer what waits, what is stopped, and what the last minute brought', async () => {
      const { submit, settle, kpis } = await setup()
      const none = await kpis()
      await submit()
      await submit()
      await submit({ dueAt: new Date((await f.store.now()) + 3_600_000).toISOString() })
      await submit()
      await settle('sent')
      await settle('parked', {
        outcome: 'permanent',
        reason: 'invalid_recipient',
        error: 'no',
        providerMessageId: null,
      })

      const { at, total } = await kpis()

      assert.ok(Math.abs(Date.parse(at) - (await f.store.now())) < 60_000)
      const { latency, oldestPendingAgeSeconds, ...numbers } = total
      assert.deepEqual(numbers, {
        queueDepth: 1,
        scheduledDepth: 1,
        stuckCount: 0,
        parkedCount: 1,
        uncertainCount: 0,
        skippedCount: 0,
        sentLastInterval: 1,
        // The sandbox sends no receipts.
        deliveredLastInterval: 1,
        skippedLastInterval: 0,
        parkedLastInterval: 1,
        failedLastInterval: 0,
      })
      assert.ok(typeof oldestPendingAgeSeconds === 'number' && oldestPendingAgeSeconds < 60)
      const { eventToSent } = latency as { eventToSent: Record<string, number | null> }
      assert.ok(typeof eventToSent['p50'] === 'number')
      assert.deepEqual((latency as { sentToDelivered: object }).sentToDelivered, { p50: null, p95: null, p99: null })
      assert.deepEqual([none.total['queueDepth'], none.total['oldestPendingAgeSeconds']], [0, null])
      assert.ok(!('groups' in none) && !('range' in none))
    })

    it('are told by channel, account, event type and site, and by tenant to ops only', async () => {
      const { tenant, accountId, submit, settle, kpis } = await setup()
      await submit()
      await settle('sent')
      await submit()

      for (const [by, value] of [
        ['channel', 'email'],
        ['accountId', accountId],
        ['eventType', null],
        ['site', null],
      ]) {
        const { groups, total } = await kpis(`?by=${by}`)
        const group = groups?.find((each) => each[by as string] === value)
        assert.equal(group?.['queueDepth'], 1, String(by))
        assert.equal(total['queueDepth'], 1)
      }
      const ops = JSON.parse((await f.call(f.opsKey, 'GET', '/ops/kpis?by=tenantId')).body) as KpiAnswer
      const own = ops.groups?.find((each) => each.tenantId === tenant.id)
      assert.deepEqual([own?.['queueDepth'], own?.['sentLastInterval']], [1, 1])
      assert.equal((await f.call(tenant.keys.viewer, 'GET', '/api/kpis?by=tenantId')).statusCode, 422)
      assert.equal((await f.call(f.opsKey, 'GET', `/ops/kpis?by=tenantId&tenantId=${tenant.id}`)).statusCode, 422)
    })

    it('of one tenant leave out another’s, and add up for ops', async () => {
      const [mine, theirs] = [await setup(), await setup()]
      await mine.submit()
      await theirs.submit()
      const ops = async (query = ''): Promise<number> =>
        Number((JSON.parse((await f.call(f.opsKey, 'GET', `/ops/kpis${query}`)).body) as KpiAnswer).total['queueDepth'])

      assert.equal((await mine.kpis()).total['queueDepth'], 1)
      assert.equal(await ops(`?tenantId=${mine.tenant.id}`), 1)
      assert.ok((await ops()) >= 2)
    })

    it('of a range come with a series, folded or not', async () => {
      const { submit, settle, kpis } = await setup()
      await submit()
      await settle('sent')
      const ask = async () => {
        const { range, total } = await kpis('?step=PT1M')
        const { counts, series } = total as unknown as {
          counts: Record<string, number>
          series: { counts: typeof counts }[]
        }
        assert.ok(range && Date.parse(range.to) - Date.parse(range.from) >= 3_600_000)
        assert.equal(series.length, Math.round((Date.parse(range.to) - Date.parse(range.from)) / 60_000))
        return [counts['created'], counts['sent'], series.reduce((sum, step) => sum + (step.counts['sent'] ?? 0), 0)]
      }

      const unfolded = await ask()
      while ((await f.store.rollups.fold(1_000)) > 0);

      assert.deepEqual(
        [unfolded, await ask()],
        [
          [1, 1, 1],
          [1, 1, 1],
        ],
      )
      const days = await kpis(`?step=P1D&from=${new Date((await f.store.now()) - 80 * 86_400_000).toISOString()}`)
      assert.ok((days.total['series'] as unknown[]).length >= 80)
    })

    it('of a range that cannot be told are refused, with what to ask for instead', async () => {
      const { tenant } = await setup()
      const now = await f.store.now()
      const ago = (days: number): string => new Date(now - days * 86_400_000).toISOString()

      for (const [query, words] of [
        [`from=${ago(1)}&to=${ago(2)}`, /from must be before to/],
        [`from=${ago(120)}&to=${ago(1)}`, /at most 90 days before to/],
        [`from=${ago(120)}&to=${ago(100)}`, /at most 90 days ago/],
        [`from=${ago(-1)}&to=${ago(-2)}`, /must not be in the future/],
        ['step=PT90S', /whole minutes/],
        ['step=soon', /ISO 8601 duration/],
        [`step=PT5M&from=${ago(10)}`, /whole hours/],
        [`step=PT1M&from=${ago(1.9)}`, /more than 1000 steps/],
        ['by=colour', /by/],
      ] as const) {
        const answer = await f.call(tenant.keys.viewer, 'GET', `/api/kpis?${query}`)
        assert.equal(answer.statusCode, 422, query)
        assert.match(answer.body, words)
      }
    })

    it('do not disagree with /health', async () => {
      const { submit } = await setup()
      await submit()
      const health = await f.call(null, 'GET', '/health')
      const { backlog } = JSON.parse(health.body) as { backlog: { oldestPendingAgeSeconds: number | null } }
      const ops = JSON.parse((await f.call(f.opsKey, 'GET', '/ops/kpis')).body) as KpiAnswer

      assert.ok(Number(ops.total['oldestPendingAgeSeconds']) >= Math.floor(backlog.oldestPendingAgeSeconds ?? 0))
    })

    it('of workers say who they are and whether they live', async () => {
      const { workerId } = await setup()

      const { items } = (await f.call(f.opsKey, 'GET', '/ops/workers')).json()

      const { startedAt, lastBeatAt, ...worker } = items.find(({ id }) => id === workerId) as unknown as Record<
        string,
        string
      >
      assert.deepEqual(worker, {
        id: workerId,
        host: 'mill',
        pid: 7,
        version: '1.2.3',
        channels: null,
        inFlight: 0,
        isAlive: true,
      })
      assert.ok(Date.parse(startedAt ?? '') <= Date.parse(lastBeatAt ?? ''))
    })
  })
