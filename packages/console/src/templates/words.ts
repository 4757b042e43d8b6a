import type { Template, TemplateVersion } from '@pillarbox/client'

/** What a template says, as it is typed. */
export interface Draft {
  subject: string
  body: string
  format: '' | 'text' | 'html'
  /** JSON. */
  providerTemplate: string
}

export const EMPTY: Draft = { subject: '', body: '', format: '', providerTemplate: '' }

export function draftOf({ subject, body, format, providerTemplate }: Template | TemplateVersion): Draft {
  return {
    subject: subject ?? '',
    body,
    format: format ?? '',
    providerTemplate: providerTemplate ? JSON.stringify(providerTemplate, null, 2) : '',
  }
}

export function isSameDraft(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The fields of the API; or what is wrong with the text that should be JSON. */
export function wordsOf(draft: Draft): { words: object } | { problem: string } {
  const { subject, body, format, providerTemplate } = draft
  const read = readObject(providerTemplate)
  if (read === 'bad') return { problem: 'The provider’s template is not a JSON object.' }
  return {
    words: {
      subject: subject === '' ? null : subject,
      body,
      format: format === '' ? null : format,
      providerTemplate: read,
    },
  }
}

/** Null where there is nothing. */
export function readObject(text: string): Record<string, unknown> | null | 'bad' {
  if (text.trim() === '') return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : 'bad'
  } catch {
    return 'bad'
  }
}

/** Everything that can change from one version to the next, as one text. */
export function textOf({ subject, body, format, providerTemplate }: Draft): string {
  return [
    ...(subject === '' ? [] : [`Subject: ${subject}`, '']),
    body,
    ...(format === '' ? [] : ['', `Format: ${format}`]),
    ...(providerTemplate === '' ? [] : ['', 'Provider’s template:', providerTemplate]),
  ].join('\n')
}

const WITHOUT_SUBJECT = ['sms', 'whatsapp']

export function hasSubject(channel: string): boolean {
  return !WITHOUT_SUBJECT.includes(channel)
}

const WITH_PROVIDER_TEMPLATE = ['sms', 'whatsapp']

export function hasProviderTemplate(channel: string): boolean {
  return WITH_PROVIDER_TEMPLATE.includes(channel)
}

/** Where in the text something is wrong, where the message says so. */
export function placeIn(message: string): { line: number; column: number } | null {
  const [, line, column] = /line (\d+), column (\d+)/.exec(message) ?? []
  return line && column ? { line: Number(line), column: Number(column) } : null
}

/** The message without the place, which is said apart. */
export function withoutPlace(message: string): string {
  return message.replace(/ *[([]line \d+, column \d+[)\]]/, '')
}
