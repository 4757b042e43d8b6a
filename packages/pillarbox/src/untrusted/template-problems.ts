import type { FieldError } from '../model/errors.ts'
import type { Renderer, TemplateWords } from '../render/render.ts'

/** What keeps each part of a template from being rendered; nothing, where the list is empty. */
export function templateProblems(renderer: Renderer, template: TemplateWords): FieldError[] {
  const nothing: TemplateWords = { subject: null, body: '', providerTemplate: null }
  return (['subject', 'body', 'providerTemplate'] as const).flatMap((field) => {
    const message = renderer.problem({ ...nothing, [field]: template[field] })
    return message === null ? [] : [{ path: `/${field}`, message }]
  })
}
