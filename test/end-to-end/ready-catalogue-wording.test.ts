import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCatalogueText } from '../../packages/pillarbox/src/catalogue/file.ts'
import { readyCatalogues } from '../../packages/pillarbox/src/catalogue/ready.ts'
import type { Catalogue, TemplateSeed } from '../../packages/pillarbox/src/model/catalogue.ts'
import { createRenderer } from '../../packages/pillarbox/src/render/render.ts'
import { segmentsOf } from '../../packages/pillarbox/src/render/segments.ts'
import { catalogueChecks } from '../../packages/pillarbox/src/untrusted/catalogue-checks.ts'
import type { ProviderTemplate } from '../support/tenant.ts'
import { SAMPLES } from './busflow-messages.ts'

const checks = catalogueChecks(createRenderer(), () => {})

function read(name: string): Extract<ReturnType<typeof readCatalogueText>, { catalogue: unknown }> {
  const found = readCatalogueText(readyCatalogues.document(name) ?? assert.fail(name), checks)
  return 'catalogue' in found ? found : assert.fail(JSON.stringify(found.problems))
}

function templatesOf({ templates }: Catalogue, channel: string): TemplateSeed[] {
  return templates.filter((template) => template.channel === channel)
}

/** What stands between placeholders and tags. */
function fixedText(template: string): string {
  return template.replace(/\{\{.*?\}\}|\{%.*?%\}/gs, '')
}

/** `{{ name }}` and `{{name}}` are the same. */
function tight(template: string): string {
  return template.replace(/\{\{ *(.*?) *\}\}/g, '{{$1}}')
}

describe('the ready catalogues', () => {
  it('are six', () => {
    assert.deepEqual(readyCatalogues.names(), ['atlas', 'busflow', 'eventhub', 'ops', 'push', 'scada'])
  })

  for (const name of readyCatalogues.names()) {
    it(`${name} is read without a word of warning, under its own name`, () => {
      const { catalogue, warnings } = read(name)

      assert.deepEqual(warnings, [])
      assert.equal(catalogue.name, name)
    })

    it(`${name} says of every event type what it is for, and has a plural for its entity`, () => {
      const { catalogue } = read(name)

      for (const type of catalogue.eventTypes) {
        assert.ok(type.description, type.name)
        assert.ok(catalogue.entities[type.entity], type.name)
      }
    })
  }

  it('take nothing from elsewhere into their mails: no images, scripts or style sheets', () => {
    for (const name of readyCatalogues.names())
      for (const { eventType, body } of templatesOf(read(name).catalogue, 'email'))
        assert.doesNotMatch(body, /<(img|script|link|style|iframe)|url\(|src=/i, eventType)
  })
})

describe('busflow', () => {
  const { catalogue } = read('busflow')

  it('has the 22 events of the registry', () => {
    assert.equal(catalogue.eventTypes.length, 22)
    assert.deepEqual(
      catalogue.eventTypes.map(({ name }) => name).toSorted(),
      SAMPLES.map(({ type }) => type).toSorted(),
    )
  })

  it('is German throughout', () => {
    assert.equal(catalogue.defaultLocale, 'de-DE')
    assert.deepEqual(new Set(catalogue.templates.map(({ locale }) => locale)), new Set(['de-DE']))
  })

  it('has only WhatsApp messages that Meta can approve', () => {
    const names = new Set<string>()
    for (const { eventType, body, providerTemplate } of templatesOf(catalogue, 'whatsapp')) {
      const { name, language, components } = providerTemplate as unknown as ProviderTemplate
      assert.match(name, /^[a-z0-9_]{1,512}$/, eventType)
      assert.equal(language, 'de')
      names.add(name)
      assert.ok(body.length <= 1_024, eventType)
      assert.doesNotMatch(body.trim(), /^\{[{%]|[%}]\}$/, `${eventType} begins or ends with a placeholder`)
      assert.doesNotMatch(body, /\}\}\s*\{\{|\n{3}/, eventType)
      // Each parameter stands in the body, in its place; what remains is the text that Meta is shown.
      let rest = tight(body)
      for (const { text } of components[0]?.parameters ?? []) {
        const placeholder = tight(text.replace(' | strip | normalize_whitespace', ''))
        const at = rest.indexOf(placeholder)
        assert.ok(at >= 0, `${eventType}: ${text}`)
        assert.doesNotMatch(rest.slice(0, at), /\{[{%]/, eventType)
        rest = rest.slice(at + placeholder.length)
      }
      assert.doesNotMatch(rest, /\{[{%]/, eventType)
    }
    assert.equal(names.size, templatesOf(catalogue, 'whatsapp').length)
  })

  it('keeps its SMS in the alphabet of telephones', () => {
    for (const { eventType, body } of templatesOf(catalogue, 'sms'))
      assert.deepEqual(segmentsOf(fixedText(body)).forcedBy, [], eventType)
  })
})
