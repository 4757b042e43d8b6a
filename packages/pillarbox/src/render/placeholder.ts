import { type Emitter, type Template, TypeGuards, toValueSync, type Value } from 'liquidjs'
import { escapeHtml } from '../model/html.ts'
import type { Filling } from './filling.ts'
import type { PathStep } from './payload.ts'
import { SafeHtml, writtenText } from './values.ts'

type TemplateToken = Template['token']

/** `{{ … }}` and `{% echo … %}`: fills in a value, notes what is missing, escapes in HTML. */
export function createPlaceholder(token: TemplateToken, value: Value): Template {
  const { filters } = value
  const [only, ...more] = value.initial.postfix
  const path = only && more.length === 0 ? pathOf(only) : null
  const key = TypeGuards.isPropertyAccessToken(only) && more.length === 0 ? only.getText().trim() : ''
  // A template that says what to write instead has thought of it.
  const hasDefault = filters.some(({ name }) => name === 'default')
  const isEscaped = filters.at(-1)?.raw ?? false

  function render(filling: Filling, emitter: Emitter): void {
    const { missing, settings } = filling.rendering
    filling.isFilling = !hasDefault && more.length === 0
    let content: unknown = path ? filling.find(path) : toValueSync(value.initial.evaluate(filling) as never)
    const isAbsent = content === undefined && key !== ''
    if (!hasDefault && (isAbsent || (filters.length === 0 && isPlainObject(content)))) {
      // What had to be worked out has been noted on the way.
      if (path) missing.note(key, isAbsent ? 'absent' : 'object')
      if (settings.missing === 'keep') {
        filling.isFilling = false
        write(filling, emitter, `{{${key}}}`)
        return
      }
    }
    filling.isFilling = !hasDefault
    for (const filter of filters) content = toValueSync(filter.render(content, filling) as never)
    filling.isFilling = false
    write(filling, emitter, content)
  }

  function write(filling: Filling, emitter: Emitter, content: unknown): void {
    const text = typeof content === 'string' ? content : writtenText(content, filling.rendering.work)
    const isSafe = !filling.isHtml || isEscaped || content instanceof SafeHtml
    emitter.write(isSafe ? text : escapeHtml(text))
  }

  return { token, render: render as Template['render'], arguments: () => [value] }
}

/** The path of a plain `guest.name` or `rooms[0]`; null for whatever has to be worked out. */
function pathOf(token: TemplateToken): PathStep[] | null {
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable) return null
  const path: PathStep[] = []
  for (const prop of token.props) {
    if (!TypeGuards.isWordToken(prop) && !TypeGuards.isQuotedToken(prop) && !TypeGuards.isNumberToken(prop)) return null
    path.push(prop.content)
  }
  return path
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
