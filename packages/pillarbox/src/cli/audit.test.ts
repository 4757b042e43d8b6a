import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { chainAudit } from '../../../../test/support/audit.ts'
import { commandLineOnFile } from '../../../../test/support/command-line.ts'

/** A command line over a store with a chained tenant, and somebody who changes its file by hand. */
async function setup(t: TestContext) {
  const { cli, output, open, byHand } = commandLineOnFile(t)
  const record = async (...actions: string[]): Promise<void> => {
    const store = await open()
    await store.migrate()
    await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    for (const action of actions)
      await store.audit.record({ tenantId: 'acme', actor: 'cli', action, subject: 'x', note: 'why' })
    await chainAudit(store, 2)
    await store.close()
  }
  await record('one', 'two', 'three')
  const verify = (...args: string[]): Promise<number> => {
    Object.assign(output, { stdout: '', stderr: '' })
    return cli('audit', 'verify', ...args)
  }
  return { verify, record, byHand, output }
}

describe('pillarbox audit verify', () => {
  it('says that a chain is whole, and what its head is', async (t) => {
    const { verify, output } = await setup(t)

    assert.equal(await verify(), 0)

    assert.match(output.stdout, /^ok {6}\(no tenant\): nothing is chained yet, 0 rows not chained$/m)
    assert.match(output.stdout, /^ok {6}acme: 4 rows in 2 links\n {8}head [0-9a-f]{64}$/m)
    assert.equal(await verify('--tenant', 'acme', '--json'), 0)
    const [chain] = JSON.parse(output.stdout) as { tenantId: string; rows: number; fault: unknown }[]
    assert.deepEqual([chain?.tenantId, chain?.rows, chain?.fault], ['acme', 4, null])
  })

  it('names the first row that was changed by hand, with exit code 1', async (t) => {
    const { verify, byHand, output } = await setup(t)
    byHand(`update pillarbox_audit set actor = 'key:eve' where action in ('two', 'three')`)

    assert.equal(await verify('--tenant', 'acme'), 1)

    assert.match(output.stdout, /^BROKEN {2}acme: row 3 is not as it was chained: .* \(link 2\)$/m)
  })

  it('finds an end that was cut off, by a head that was kept', async (t) => {
    const { verify, record, byHand, output } = await setup(t)
    await verify('--tenant', 'acme')
    const [, kept = ''] = /head ([0-9a-f]{64})/.exec(output.stdout) ?? []
    await record('four')
    assert.equal(await verify('--tenant', 'acme', '--expect-head', kept), 0)

    byHand('delete from pillarbox_audit where id > 2; delete from pillarbox_audit_links where number > 1')

    assert.equal(await verify('--tenant', 'acme'), 0)
    assert.equal(await verify('--tenant', 'acme', '--expect-head', kept), 1)
    assert.match(output.stdout, /^BROKEN {2}acme: no link has the expected hash/m)
  })

  it('refuses what cannot be asked, and says why', async (t) => {
    const { verify, output } = await setup(t)

    assert.equal(await verify('--tenant', 'nobody'), 1)
    assert.match(output.stderr, /there is no tenant "nobody"/)
    assert.equal(await verify('--tenant', 'acme', '--expect-head', 'abc'), 2)
    assert.match(output.stderr, /64 hexadecimal digits/)
    assert.equal(await verify('--expect-head', 'a'.repeat(64)), 2)
    assert.match(output.stderr, /--tenant/)
  })
})
