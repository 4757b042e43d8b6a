import type { Channel } from '../event-rules.ts'
import { type Calls, type PageOptions, path } from './calls.ts'
import type { Address, Warning } from './resources.ts'
import type { CallOptions } from './transport.ts'

/** Words in Liquid, and where they apply. */
export interface NewTemplate {
  eventType: string
  channel: Channel
  /** Default: the tenant's. */
  locale?: string
  /** Only for entities of this scope, e.g. `listing` and `10`; both or neither. */
  scopeType?: string | null
  scopeId?: string | null
  subject?: string | null
  body: string
  /** WhatsApp: name, language, components. SMS: dltTemplateId, dltEntityId, flowId. */
  providerTemplate?: Record<string, unknown> | null
  /** Default: true. */
  isActive?: boolean
}

export interface Template extends Required<NewTemplate> {
  id: string
  tenantId: string
  version: number
  /** Changed since the catalogue gave it: an import keeps it. */
  isEdited: boolean
  /** What was saved and probably not meant, e.g. `unknown_placeholder` with the nearest known name. */
  warnings: Warning[]
  createdAt: string
  updatedAt: string
  updatedBy: string
}

export interface TemplateVersion {
  version: number
  subject: string | null
  body: string
  providerTemplate: Record<string, unknown> | null
  isActive: boolean
  changedAt: string
  changedBy: string
}

export interface TemplateFilter {
  eventType?: string
  channel?: Channel
  locale?: string
  isActive?: boolean
}

/** Words that need not be saved, and what to fill them with. */
export interface TemplateDraft {
  channel: Channel
  subject?: string | null
  body: string
  providerTemplate?: Record<string, unknown> | null
  context: Record<string, unknown>
  locale?: string
  /** Against whose payload the keys are checked. */
  eventType?: string
}

export interface TemplatePreview {
  subject: string | null
  body: string
  providerTemplate: Record<string, unknown> | null
  isHtml: boolean
  /** Keys that the context does not have. */
  missing: string[]
  /** Keys that no payload of the event type has. */
  unknown: string[]
  /** Of an SMS. */
  segments?: { encoding: 'GSM-7' | 'UCS-2'; units: number; segments: number; remaining: number; forcedBy: string[] }
  warnings: Warning[]
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
