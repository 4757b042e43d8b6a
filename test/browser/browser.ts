import assert from 'node:assert/strict'
import { AxeBuilder } from '@axe-core/playwright'
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

/** Chromium as the package of that name carries it: no other step installs it. */
export async function openBrowser(): Promise<Browser> {
  return await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
    headless: true,
  })
}

/** In the page: what its content policy refuses is told as an error. */
const TELL_OF_REFUSALS = `document.addEventListener('securitypolicyviolation', (refused) => {
  console.error('policy: ' + refused.violatedDirective + ' ' + refused.blockedURI + ' ' + refused.sample)
})`

/** A page of somebody's own browser, and what went wrong on it. */
export interface Visitor {
  page: Page
  /** Refusals of the content policy, errors of scripts, and what a planted script would have done. */
  complaints: string[]
  goTo(path: string): Promise<void>
  close(): Promise<void>
}

export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: url, reducedMotion: 'reduce', locale: 'en-GB', ...options })
  const complaints: string[] = []
  await context.exposeFunction('stolen', (what: string) => void complaints.push(`a planted script ran: ${what}`))
  await context.addInitScript({ content: TELL_OF_REFUSALS })
  const page = await context.newPage()
  page.on('pageerror', (error) => void complaints.push(String(error)))
  page.on('console', (message) => {
    const isRefusal = /status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text())
  })
  return {
    page,
    complaints,
    async goTo(path) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
    },
    close: () => context.close(),
  }
}

export async function signIn({ page }: Visitor, key: string): Promise<void> {
  await page.goto('/login')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

/** What axe finds wrong with the page as it stands. Frames of messages are other people's pages. */
export async function assertAccessible({ page }: Visitor, where: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).exclude('iframe').analyze()
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
  assert.deepEqual(found, [], where)
}
