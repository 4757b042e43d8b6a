import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { it } from 'node:test'
import { createEventParser } from '../../packages/client/src/http/event-stream.ts'
import { PillarboxClient } from '../../packages/client/src/index.ts'
import { OPS_KEY } from '../support/api.ts'
import { until } from '../support/until.ts'
import { startWorld } from '../support/world.ts'

/** As much of a page as the example needs. */
class Element {
  id = ''
  className = ''
  textContent = ''
  onclick: (() => unknown) | null = null
  readonly children: Element[] = []
  parent: Element | null = null

  prepend(child: Element): void {
    child.parent = this
    this.children.unshift(child)
  }

  remove(): void {
    this.parent?.children.splice(this.parent.children.indexOf(this), 1)
  }
}

/** As much of a browser's EventSource, which Node has only behind a flag. */
class PretendEventSource extends EventTarget {
  onopen: (() => unknown) | null = null

  constructor(url: string) {
    super()
    void this.listen(url)
  }

  private async listen(url: string): Promise<void> {
    const response = await fetch(url)
    assert.equal(response.status, 200)
    this.onopen?.()
    const parser = createEventParser()
    for await (const chunk of response.body as AsyncIterable<Uint8Array>)
      for (const { name, data } of parser.take(chunk)) this.dispatchEvent(Object.assign(new Event(name), { data }))
  }
}

it('the example of the guide shows messages, live and as text, and marks them as read', async () => {
  await using world = await startWorld('sqlite')
  const { account, id: tenantId } = await world.tenant()
  await account({ channel: 'in_app', provider: 'inbox', name: 'inbox' })
  const ops = new PillarboxClient({ url: world.url, key: OPS_KEY, tenantId })
  const send = (body: string) => ops.send({ channel: 'in_app', to: { userId: 'ada/1' }, subject: 'Hi', body })
  const { id: first } = await send('before')
  await until('it is sent', async () => (await ops.status(first)).status === 'sent')

  const page = await openPage(async () => ({ url: world.url, ...(await ops.inbox.issueToken('ada/1')) }))
  await until('the page shows it', () => page.list.children.length === 1)
  await send('<img src=x onerror=alert(1)>')
  await until('the page shows both', () => page.list.children.length === 2 && page.document.title === '(2) Shop')

  assert.deepEqual(
    page.list.children.map(({ textContent, className }) => [textContent, className]),
    [
      ['Hi: <img src=x onerror=alert(1)>', 'unread'],
      ['Hi: before', 'unread'],
    ],
  )
  page.list.children[1]?.onclick?.()
  await until(
    'the page shows it as read',
    () => page.list.children[1]?.className === 'read' && page.document.title === '(1) Shop',
  )
  await until('it is read', async () => (await ops.status(first)).status === 'read')
})

/** Runs the script of the guide in a page of its own; `answerToken` stands for the application's server. */
async function openPage(answerToken: () => Promise<object>) {
  const guide = await readFile(new URL('../../docs/guides/inbox.md', import.meta.url), 'utf8')
  const [, script] = /<script type="module">\n([\s\S]*?)<\/script>/.exec(guide) ?? []
  assert.ok(script)
  assert.ok(script.trim().split('\n').length <= 25, 'the example has grown')
  const list = Object.assign(new Element(), { id: 'messages' })
  const all = (element: Element): Element[] => [element, ...element.children.flatMap(all)]
  const document = {
    title: '',
    createElement: () => new Element(),
    getElementById: (id: string) => all(list).find((element) => element.id === id) ?? null,
  }
  const fetchAsPage = async (url: string, options?: RequestInit): Promise<Response> =>
    url === '/inbox-token' ? Response.json(await answerToken()) : fetch(url, options)
  const run = openPage.constructor as new (...parts: string[]) => (...given: unknown[]) => Promise<void>
  await new run('document', 'fetch', 'EventSource', script)(document, fetchAsPage, PretendEventSource)
  return { document, list }
}
