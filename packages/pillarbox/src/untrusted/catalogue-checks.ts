import { checkSchema } from '../catalogue/check-payload.ts'
import type { CatalogueChecks } from '../catalogue/parse.ts'
import { formatProblem } from '../render/body-format.ts'
import type { Renderer } from '../render/render.ts'
import { knownPaths } from '../render/render-options.ts'
import { settingProblems } from '../render/tenant-settings.ts'
import { ITEM_MS, type Mark, READING_MS } from './limits.ts'
import { templateProblems } from './template-problems.ts'

/** All that can be known to be wrong before an event arrives: better said now than by every notification. */
export function catalogueChecks(renderer: Renderer, mark: Mark): CatalogueChecks {
  const part = <Found>(name: string, check: () => Found): Found => {
    mark(ITEM_MS, name)
    const found = check()
    mark(READING_MS)
    return found
  }
  return {
    tenantDefaults: settingProblems,
    schema: (schema, path) => part(path, () => checkSchema(schema)),
    template: (template, type, path) =>
      part(path, () => {
        const problems = templateProblems(renderer, template)
        const formatFault = formatProblem(template.channel, template.format)
        // What cannot be read has no placeholders; the rest of the template may.
        const isRead = (field: string): boolean => !problems.some(({ path: at }) => at === `/${field}`)
        const readable = {
          ...template,
          subject: isRead('subject') ? template.subject : null,
          body: isRead('body') ? template.body : '',
          providerTemplate: isRead('providerTemplate') ? template.providerTemplate : null,
        }
        const unknown = renderer.unknownPlaceholders(readable, knownPaths(type))
        const warnings = unknown.map(({ key, suggestion }) => ({
          path: '',
          message: `uses {{${key}}}, which the payload’s schema does not have${suggestion === null ? '' : `; did you mean {{${suggestion}}}?`}`,
        }))
        return {
          problems: [
            ...problems.map(({ path: at, message }) => ({ path: at, message: `cannot be rendered: ${message}` })),
            ...(formatFault === null ? [] : [{ path: '/format', message: formatFault }]),
          ],
          warnings,
        }
      }),
  }
}
