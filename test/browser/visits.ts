import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { ensureBuilt } from '../../packages/console/ensure-built.ts'
import type { TestTenant } from '../support/tenant.ts'
import { openWorld, type TenantOptions, type World } from '../support/world.ts'
import { assertAccessible, openBrowser, signIn, type Visitor, visit } from './browser.ts'

/** In the page: by how much it is wider than the screen. */
const TOO_WIDE_BY = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** A server with one tenant, and people who look at it in a browser of their own. */
export interface Visits {
  world: World
  shop: TestTenant
  /** Somebody with a key of this role, who must have had nothing to complain of when they leave. */
  as(role: string, work: (visitor: Visitor) => Promise<void>, options?: Parameters<typeof visit>[2]): Promise<void>
  /** What every screen has to be: nothing for axe in either theme, and no wider than 320 pixels. */
  assertLooksRight(role: string, paths: readonly string[]): Promise<void>
}

/** Starts everything before the tests of a `describe`, and ends it after them. */
export function openVisits(options: TenantOptions, settings: Record<string, string> = {}): Visits {
  let browser: Browser
  const opened = {} as Visits
  before(async () => {
    const said: string[] = []
    await ensureBuilt((line) => said.push(line))
    assert.ok(!said.some((line) => line.includes('could not')), said.join('\n'))
    opened.world = await openWorld('sqlite', { settings })
    await opened.world.start()
    opened.shop = await opened.world.tenant(options)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await opened.world?.[Symbol.asyncDispose]()
  })

  async function withKey(
    key: string,
    work: (visitor: Visitor) => Promise<void>,
    look: Parameters<typeof visit>[2] = {},
  ): Promise<void> {
    const visitor = await visit(browser, opened.world.url, look)
    try {
      await signIn(visitor, key)
      await work(visitor)
      assert.deepEqual(visitor.complaints, [])
    } finally {
      await visitor.close()
    }
  }
  const keyOf = (role: string): Promise<string> | string =>
    role === 'ops' ? String(opened.world.settings['PILLARBOX_OPS_KEY']) : opened.shop.key(role)

  opened.as = async (role, work, look) => withKey(await keyOf(role), work, look)
  opened.assertLooksRight = async (role, paths) => {
    for (const colorScheme of ['light', 'dark'] as const)
      await opened.as(
        role,
        async (visitor) => {
          for (const path of paths) {
            await visitor.goTo(path)
            await visitor.page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => {})
            await assertAccessible(visitor, `${path}, ${colorScheme}`)
          }
        },
        { colorScheme },
      )
    await opened.as(
      role,
      async (visitor) => {
        for (const path of paths) {
          await visitor.goTo(path)
          const over = await visitor.page.evaluate<number>(TOO_WIDE_BY)
          assert.ok(over <= 0, `${path} is ${over} pixels too wide`)
        }
      },
      { viewport: { width: 320, height: 640 } },
    )
  }
  return opened
}
