import type { Channel } from '../event-rules.ts'
import { type Calls, type PageOptions, path } from './calls.ts'
import type { CallOptions } from './transport.ts'
import type { Address, NewTemplate, Template, TemplateDraft, TemplatePreview, TemplateVersion } from './wire.ts'

export interface TemplateFilter {
  eventType?: string
  channel?: Channel
  locale?: string
  isActive?: boolean
}

/**
 * `/api/message-templates`. What cannot be rendered is refused with 422 `invalid_template` and the line. With the `version`
 * that was read, a change is refused with 409 `changed_meanwhile` where there is another by now; without, the last one wins.
 */
export interface Templates {
  list(filter?: TemplateFilter, options?: PageOptions & CallOptions): AsyncGenerator<Template, void, undefined>
  get(id: string, options?: CallOptions): Promise<Template>
  create(template: NewTemplate, options?: CallOptions): Promise<Template>
  /** What is not given takes its default. */
  replace(id: string, template: NewTemplate & { version?: number }, options?: CallOptions): Promise<Template>
  update(id: string, changes: Partial<NewTemplate> & { version?: number }, options?: CallOptions): Promise<Template>
  /** Null when it is gone; one that notifications were made from is answered, deactivated. */
  remove(id: string, options?: CallOptions): Promise<Template | null>
  versions(id: string, options?: PageOptions & CallOptions): AsyncGenerator<TemplateVersion, void, undefined>
  /** The words as they would be sent: of a draft, or of a template by its id. */
  preview(draft: TemplateDraft, options?: CallOptions): Promise<TemplatePreview>
  previewOf(
    id: string,
    filling: { context: Record<string, unknown>; locale?: string },
    options?: CallOptions,
  ): Promise<TemplatePreview>
  /** Sends it to somebody, to see it arrive. */
  testSend(
    id: string,
    test: { to: Address; context: Record<string, unknown> },
    options?: CallOptions,
  ): Promise<{ id: string }>
}

const BASE = '/api/message-templates'

export function templatesOf(calls: Calls): Templates {
  return {
    list: ({ isActive, ...filter } = {}, options = {}) =>
      calls.all(BASE, { ...filter, isActive: isActive?.toString() }, options),
    get: (id, options = {}) => calls.get(path`/api/message-templates/${id}`, {}, options),
    create: (template, options = {}) => calls.send('POST', BASE, template, options),
    replace: (id, template, options = {}) => calls.send('PUT', path`/api/message-templates/${id}`, template, options),
    update: (id, changes, options = {}) => calls.send('PATCH', path`/api/message-templates/${id}`, changes, options),
    remove: (id, options = {}) => calls.send('DELETE', path`/api/message-templates/${id}`, undefined, options),
    versions: (id, options = {}) => calls.all(path`/api/message-templates/${id}/versions`, {}, options),
    preview: (draft, options = {}) => calls.send('POST', `${BASE}/preview`, draft, { ...options, isRepeatable: true }),
    previewOf: (id, filling, options = {}) =>
      calls.send('POST', path`/api/message-templates/${id}/preview`, filling, { ...options, isRepeatable: true }),
    testSend: (id, test, options = {}) =>
      calls.send('POST', path`/api/message-templates/${id}/test-send`, test, options),
  }
}
