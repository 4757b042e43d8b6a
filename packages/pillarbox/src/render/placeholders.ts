import { AssignTag, type Template, TypeGuards, toValueSync, Value } from 'liquidjs'
import { closest } from '../model/closest.ts'

/** Something a template takes from the payload. */
export interface Placeholder {
  /** As it is written, e.g. `room.name` within a loop. */
  key: string
  /** What that is in the payload, e.g. `rooms[].name`. */
  path: string
  /** The variable of the template it goes through: `room`, which is `rooms[]`. */
  through: { name: string; path: string } | null
}

export interface UnknownPlaceholder {
  key: string
  /** The known name that was probably meant, as it could be written in the same place. */
  suggestion: string | null
}

/** Variables of the template by name; null where they are worked out, so that nothing is known of them. */
type VariablePaths = Map<string, string | null>

/** Every placeholder of a template in its order, each once; also those of conditions and loops. */
export function placeholdersIn(templates: readonly Template[]): Placeholder[] {
  const found = new Map<string, Placeholder>()
  const scopes: VariablePaths[] = [new Map()]

  function visit(template: Template): void {
    const values = [...(template.arguments?.() ?? [])]
    for (const value of values) collect(value)
    for (const name of template.localScope?.() ?? [])
      scopes[0]?.set(nameOf(name), template instanceof AssignTag ? aliasOf(values[0]) : null)
    if (!template.children) return

    const [variable, ...others] = template.blockScope?.() ?? []
    const scope: VariablePaths = new Map(others.map((name) => [name, null]))
    const list = variable === undefined ? null : aliasOf(values[0])
    if (variable !== undefined) scope.set(variable, list === null ? null : `${list}[]`)
    scopes.push(scope)
    for (const child of toValueSync(template.children(false, true))) visit(child)
    scopes.pop()
  }

  function collect(value: unknown): void {
    if (value instanceof Value || TypeGuards.isFilteredValueToken(value)) {
      for (const token of value.initial.postfix) collect(token)
      for (const { args } of value.filters) for (const arg of args) collect(Array.isArray(arg) ? arg[1] : arg)
    } else if (TypeGuards.isRangeToken(value)) {
      collect(value.lhs)
      collect(value.rhs)
    } else if (TypeGuards.isPropertyAccessToken(value)) {
      for (const prop of value.props) collect(prop)
      const placeholder = placeholderOf(value)
      if (placeholder && !found.has(placeholder.key)) found.set(placeholder.key, placeholder)
    }
  }

  function aliasOf(value: unknown): string | null {
    if (value instanceof Value) {
      const [only, ...more] = value.initial.postfix
      return more.length === 0 && value.filters.length === 0 ? aliasOf(only) : null
    }
    return TypeGuards.isPropertyAccessToken(value) ? (placeholderOf(value)?.path ?? null) : null
  }

  function placeholderOf(token: unknown): Placeholder | null {
    if (!TypeGuards.isPropertyAccessToken(token) || token.variable) return null
    const [root, ...steps] = token.props
    if (!TypeGuards.isWordToken(root) && !TypeGuards.isQuotedToken(root)) return null
    const name = root.content
    const rest = steps.map((step) =>
      TypeGuards.isWordToken(step) || TypeGuards.isQuotedToken(step) ? `.${step.content}` : '[]',
    )
    const key = token.getText().trim()
    const scope = scopes.findLast((candidate) => candidate.has(name))
    if (!scope) return { key, path: `${name}${rest.join('')}`, through: null }
    const path = scope.get(name) ?? null
    return path === null ? null : { key, path: `${path}${rest.join('')}`, through: { name, path } }
  }

  for (const template of templates) visit(template)
  return [...found.values()]
}

function nameOf(name: unknown): string {
  return typeof name === 'string' ? name : (name as { content: string }).content
}

const MAX_UNKNOWN = 100
const MAX_SUGGESTED_CHARACTERS = 100
const MAX_PATH_CHARACTERS = 500

/**
 * Those that no known path answers to, whatever the case of their letters and whether nested or run together. A path
 * that ends in `.*` stands for everything below it.
 */
export function unknownAmong(
  placeholders: readonly Placeholder[],
  knownPaths: readonly string[] | null,
): UnknownPlaceholder[] {
  if (knownPaths === null) return []
  const known = new Map<string, string>()
  const open = new Set<string>()
  for (const path of knownPaths) {
    if (path === '*') return []
    if (path.endsWith('.*')) open.add(folded(path.slice(0, -2)))
    for (const part of prefixesOf(path.replace(/\.\*$/, '')))
      if (!known.has(folded(part))) known.set(folded(part), part)
  }
  const isKnown = (path: string): boolean =>
    known.has(folded(path)) || prefixesOf(path).some((prefix) => open.has(folded(prefix)))

  return placeholders
    .filter(({ path }) => path.length > MAX_PATH_CHARACTERS || !readingsOf(path).some(isKnown))
    .slice(0, MAX_UNKNOWN)
    .map(({ key, path, through }) => {
      const meant = path.length > MAX_SUGGESTED_CHARACTERS ? null : closest(folded(path), [...known.keys()])
      const suggestion = meant === null ? null : (known.get(meant) ?? null)
      const isInside = suggestion !== null && through !== null && suggestion.startsWith(`${through.path}.`)
      return { key, suggestion: isInside ? `${through.name}${suggestion.slice(through.path.length)}` : suggestion }
    })
}

/** `rooms.size`, `rooms.first` and `rooms.last` may be fields, or what Liquid knows of every list. */
function readingsOf(path: string): string[] {
  return [path, path.replace(/\.(size|first|last)$/, ''), path.replaceAll(/\.(first|last)(?=\.|$)/g, '[]')]
}

/** `a.b[].c` begins with `a`, `a.b`, `a.b[]`. */
function prefixesOf(path: string): string[] {
  const prefixes: string[] = []
  for (const { index } of path.matchAll(/\.|\[\]/g)) prefixes.push(path.slice(0, index))
  return [...prefixes, path]
}

function folded(path: string): string {
  return path.replaceAll('.', '').toLowerCase()
}
