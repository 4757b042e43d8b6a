import { closest } from '../model/closest.ts'
import { errorText } from '../model/errors.ts'
import { filtersFor, REFUSED_FILTERS } from './filters.ts'

const REFUSED_TAGS: Readonly<Record<string, string>> = {
  include: 'a template is whole in itself',
  render: 'a template is whole in itself',
  layout: 'a template is whole in itself',
  block: 'a template is whole in itself',
}
const FILTERS = Object.keys(filtersFor({ isHtml: true }))
const MAX_CHARACTERS = 500

/** What went wrong with a template, for whoever wrote it. Never holds anything of the payload. */
export function explain(error: unknown): string {
  return errorText(error)
    .replace(/undefined filter: (\S+?)(?=,|$)/, (_, name: string) => aboutFilter(name))
    .replace(/tag "([^"]*)" not found/, (all, name: string) => aboutTag(name) ?? all)
    .replace('Maximum call stack size exceeded', 'limit exceeded: it is nested too deeply')
    .replace(/, line:(\d+), col:(\d+)$/, ' (line $1, column $2)')
    .slice(0, MAX_CHARACTERS)
}

function aboutFilter(name: string): string {
  const refused = Object.hasOwn(REFUSED_FILTERS, name) ? REFUSED_FILTERS[name] : undefined
  if (refused !== undefined) return `the filter "${name}" is not allowed: ${refused}`
  const meant = closest(name, FILTERS)
  return `there is no filter "${name}"${meant === null ? '' : `; did you mean "${meant}"?`}`
}

function aboutTag(name: string): string | null {
  const refused = Object.hasOwn(REFUSED_TAGS, name) ? REFUSED_TAGS[name] : undefined
  return refused === undefined ? null : `the tag "${name}" is not allowed: ${refused}`
}
