import { checkPayload, type PayloadRules } from '../catalogue/check-payload.ts'
import { type FileRead, readCatalogueText } from '../catalogue/file.ts'
import { type CatalogueRead, parseCatalogue } from '../catalogue/parse.ts'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import { plainTextOf } from '../model/plain-text.ts'
import {
  createRenderer,
  type Preview,
  type PreviewOptions,
  type Rendered,
  type Renderer,
  type RenderOptions,
  type TemplateWords,
  type UnknownPlaceholder,
} from '../render/render.ts'
import { catalogueChecks } from './catalogue-checks.ts'
import { ITEM_MS, type Mark, READING_MS } from './limits.ts'
import { templateProblems } from './template-problems.ts'

/** What is done with whatever a stranger wrote, by name: what it is given, whose that is, and what it answers. */
export interface Tasks {
  render: { given: RenderJob; answer: Rendered | { error: string } }
  preview: { given: RenderJob & { options: PreviewOptions }; answer: Preview | { error: string } }
  /** What keeps each part of a template from being rendered. */
  templateProblems: { given: Owned & { template: TemplateWords }; answer: FieldError[] }
  unknownPlaceholders: {
    given: Owned & { template: TemplateWords; knownPaths: readonly string[] | null }
    answer: UnknownPlaceholder[]
  }
  checkPayload: { given: Owned & { rules: PayloadRules; payload: unknown }; answer: FieldError[] }
  /** What a reader without HTML is shown of a body that no template made. */
  plainText: { given: Owned & { html: string; channel: Channel }; answer: ReturnType<typeof plainTextOf> }
  parseCatalogue: { given: Owned & { value: unknown }; answer: CatalogueRead }
  readCatalogueText: { given: Owned & { text: string }; answer: FileRead }
}
export type TaskName = keyof Tasks

interface Owned {
  tenantId: string
}

export interface RenderJob extends Owned {
  template: TemplateWords
  channel: Channel
  context: Record<string, unknown>
  /** The same object for many items, which then say it once. */
  options: RenderOptions
  /** Of this item alone, in place of what the options say. */
  own?: Pick<RenderOptions, 'supplied' | 'now'>
}

export type TaskTable = { readonly [Name in TaskName]: (given: Tasks[Name]['given']) => Tasks[Name]['answer'] }

export function rendered(renderer: Renderer, job: RenderJob): Tasks['render']['answer'] {
  const { template, channel, context, options, own } = job
  return renderer.render(template, channel, context, own ? { ...options, ...own } : options)
}

/** Each task as a function that asks nobody anything. */
export function createTasks(mark: Mark): TaskTable {
  const renderer = createRenderer()
  const checks = catalogueChecks(renderer, mark)
  const within =
    <Given, Answer>(limitMs: number, work: (given: Given) => Answer) =>
    (given: Given): Answer => {
      mark(limitMs)
      return work(given)
    }
  return {
    render: within(ITEM_MS, (job) => rendered(renderer, job)),
    preview: within(ITEM_MS, ({ template, channel, context, options }) =>
      renderer.preview(template, channel, context, options),
    ),
    templateProblems: within(ITEM_MS, ({ template }) => templateProblems(renderer, template)),
    unknownPlaceholders: within(ITEM_MS, ({ template, knownPaths }) =>
      renderer.unknownPlaceholders(template, knownPaths),
    ),
    checkPayload: within(ITEM_MS, ({ rules, payload }) => checkPayload(rules, payload)),
    plainText: within(ITEM_MS, ({ html, channel }) => plainTextOf(html, channel)),
    parseCatalogue: within(READING_MS, ({ value }) => parseCatalogue(value, checks)),
    readCatalogueText: within(READING_MS, ({ text }) => readCatalogueText(text, checks)),
  }
}
