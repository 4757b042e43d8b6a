import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { openBrowser, type Visitor, visit } from '../browser/browser.ts'
import { startDemo } from './demo-world.ts'
import { screensOf } from './screens.ts'

/**
 * Pictures of every screen, in both themes, as wide as a desk and as narrow as a phone, from the demonstration's week.
 * `npm run screenshots -- --out DIR`; with `--only lists` those whose name has it.
 */
const SIZES = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const
const THEMES = ['light', 'dark'] as const

async function take(visitor: Visitor, address: string, file: string): Promise<void> {
  await visitor.page.goto(address)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  await visitor.page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
  await visitor.page.screenshot({ path: file, fullPage: true })
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'screenshots' },
    dir: { type: 'string' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
  },
})
const say = (line: string): void => void process.stderr.write(`${line}\n`)
const demo = await startDemo({ dir: values.dir ?? null, port: 0, seed: Number(values.seed), say })
const browser = await openBrowser()
try {
  const screens = Object.entries(await screensOf(demo)).filter(([name]) => name.includes(values.only))
  await mkdir(values.out, { recursive: true })
  for (const colorScheme of THEMES)
    for (const [size, viewport] of Object.entries(SIZES)) {
      const visitor = await visit(browser, demo.url, { colorScheme, viewport })
      await visitor.page.goto('/login')
      await visitor.page.getByLabel('API key').fill(demo.opsKey)
      await visitor.page.getByRole('button', { name: 'Sign in' }).click()
      await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [name, address] of screens)
        await take(visitor, address, path.join(values.out, `${name}-${size}-${colorScheme}.png`))
      for (const complaint of visitor.complaints) say(`${size} ${colorScheme}: ${complaint}`)
      await visitor.close()
      say(`${screens.length} screens, ${size}, ${colorScheme}`)
    }
} finally {
  await browser.close()
  await demo.stop()
}
