import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { ensureBuilt } from '../../packages/console/ensure-built.ts'
import { OPS_KEY } from '../support/api.ts'
import type { TestTenant } from '../support/tenant.ts'
import { openWorld, type TenantOptions, type World } from '../support/world.ts'
import { assertAccessible, openBrowser, signIn, type Visitor, visit } from './browser.ts'

/** In the page: by how much it is wider than the screen. */
const TOO_WIDE_BY = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** A server with its console, a tenant, and browsers of people who work there. */
export interface Desk {
  readonly world: World
  readonly tenant: TestTenant
  /** Somebody with a key of this role, signed in, who must have had nothing to complain of when they leave. */
  as(role: string, work: (visitor: Visitor) => Promise<void>, options?: Parameters<typeof visit>[2]): Promise<void>
  /** Axe finds nothing on any of these in either theme, no policy is broken, and 320 pixels are wide enough. */
  assertFit(role: string, paths: readonly string[]): Promise<void>
}

/** Opens one before the tests of a suite, and closes it after them. */
export function openDesk(options: TenantOptions): Desk {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  const keys = new Map<string, string>()

  before(async () => {
    const said: string[] = []
    await ensureBuilt((line) => said.push(line))
    assert.ok(!said.some((line) => line.includes('could not')), said.join('\n'))
    world = await openWorld('sqlite')
    await world.start()
    tenant = await world.tenant(options)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await world?.[Symbol.asyncDispose]()
  })

  async function keyOf(role: string): Promise<string> {
    if (role === 'ops') return OPS_KEY
    const key = keys.get(role) ?? (role === 'admin' ? tenant.adminKey : await tenant.key(role))
    keys.set(role, key)
    return key
  }

  const desk: Desk = {
    get world() {
      return world
    },
    get tenant() {
      return tenant
    },
    async as(role, work, settings = {}) {
      const visitor = await visit(browser, world.url, settings)
      try {
        await signIn(visitor, await keyOf(role))
        await work(visitor)
        assert.deepEqual(visitor.complaints, [])
      } finally {
        await visitor.close()
      }
    },
    async assertFit(role, paths) {
      for (const colorScheme of ['light', 'dark'] as const)
        await desk.as(
          role,
          async (visitor) => {
            for (const path of paths) {
              await visitor.goTo(path)
              await visitor.page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => {})
              await assertAccessible(visitor, `${path} in the ${colorScheme} theme`)
            }
          },
          { colorScheme },
        )
      await desk.as(
        role,
        async (visitor) => {
          for (const path of paths) {
            await visitor.goTo(path)
            await visitor.page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => {})
            const over = await visitor.page.evaluate<number>(TOO_WIDE_BY)
            assert.ok(over <= 0, `${path} is ${over} pixels too wide`)
          }
        },
        { viewport: { width: 320, height: 640 } },
      )
    },
  }
  return desk
}
