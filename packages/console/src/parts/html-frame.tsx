import { useEffect, useRef } from 'react'

/**
 * HTML that somebody wrote, as it looks. Scripts do not run in the frame, and nothing is loaded from anywhere. The page's own policy
 * refuses styles that are written into HTML, and a frame of this page is under it; so styles are taken out of the text before it is read, and
 * set one by one, which the policy lets pass.
 */
export function HtmlFrame({ html, title, isNarrow = false }: { html: string; title: string; isNarrow?: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => fill(frame.current, html), [html])
  return (
    <iframe
      ref={frame}
      className={isNarrow ? 'frame narrow-frame' : 'frame'}
      title={title}
      sandbox="allow-same-origin"
      onLoad={({ currentTarget }) => fill(currentTarget, html)}
    />
  )
}

const STYLE = 'data-written-style'
const REMOVED = 'script, link, meta, base, iframe, object, embed, style, title'
const LOADING = ['src', 'srcset', 'background', 'href', 'action', 'poster', 'data']

function fill(frame: HTMLIFrameElement | null, html: string): void {
  const page = frame?.contentDocument
  const view = frame?.contentWindow as (Window & typeof globalThis) | null | undefined
  if (!page || !view) return
  const { body, sheets } = readInert(html)
  page.body.replaceChildren(...[...body.childNodes].map((node) => page.importNode(node, true)))
  for (const { name, value } of body.attributes) if (!name.startsWith('on')) page.body.setAttribute(name, value)
  for (const element of page.querySelectorAll<HTMLElement>(`[${STYLE}]`)) {
    element.style.cssText = element.getAttribute(STYLE) ?? ''
    element.removeAttribute(STYLE)
  }
  page.adoptedStyleSheets = sheets.map((text) => {
    const sheet = new view.CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  })
}

/** The text as elements that do nothing: no scripts, no handlers, nothing that would be loaded. */
function readInert(html: string): { body: HTMLElement; sheets: string[] } {
  const withoutStyles = html.replaceAll(/<[a-z][^>]*>/gi, (tag) => tag.replaceAll(/\sstyle\s*=/gi, ` ${STYLE}=`))
  const sheets: string[] = []
  const withoutSheets = withoutStyles.replaceAll(/<style\b[^>]*>([\s\S]*?)<\/style>/gi, (_, text: string) => {
    sheets.push(text)
    return ''
  })
  const { body } = new DOMParser().parseFromString(withoutSheets, 'text/html')
  for (const element of body.querySelectorAll(REMOVED)) element.remove()
  for (const element of body.querySelectorAll('*')) {
    const acting = Array.from(element.attributes).filter(
      ({ name, value }) => name.startsWith('on') || (LOADING.includes(name) && !value.startsWith('data:image/')),
    )
    for (const { name } of acting) element.removeAttribute(name)
  }
  return { body, sheets }
}
