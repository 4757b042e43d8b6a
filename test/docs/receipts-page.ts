import type { Rule } from '../../packages/pillarbox/src/channels/vendor-answers.ts'
import { ACS_ENGAGEMENTS, ACS_STATUSES } from '../../packages/pillarbox/src/receipts/acs.ts'
import { INTERAKT_TYPES } from '../../packages/pillarbox/src/receipts/interakt.ts'
import { META_STATUSES } from '../../packages/pillarbox/src/receipts/meta.ts'
import { MSG91_STATUSES } from '../../packages/pillarbox/src/receipts/msg91.ts'
import type { Meaning } from '../../packages/pillarbox/src/receipts/reading.ts'
import { SES_BOUNCES, SES_EVENTS } from '../../packages/pillarbox/src/receipts/ses-events.ts'
import { AWS_SMS_EVENTS, SNS_FAILURES } from '../../packages/pillarbox/src/receipts/sns-sms-events.ts'

/** `docs/reference/receipts.md`: what each vendor's words come to. */
export function receiptsPage(): string {
  return `${[HEAD, ...SECTIONS.map(section)].join('\n\n')}\n`
}

interface Section {
  title: string
  words: string
  rows: readonly [word: string, meaning: Meaning][]
}

const SECTIONS: readonly Section[] = [
  {
    title: 'meta',
    words: 'WhatsApp by Meta. `failed` is judged by its error code, as the answer to a call is.',
    rows: Object.entries(META_STATUSES),
  },
  {
    title: 'interakt',
    words: 'WhatsApp by Interakt. `message_api_failed` is judged by Meta’s error code.',
    rows: Object.entries(INTERAKT_TYPES),
  },
  { title: 'msg91', words: 'SMS by MSG91, in any of its four forms.', rows: Object.entries(MSG91_STATUSES) },
  {
    title: 'ses',
    words: 'Email by Amazon SES. Bounces are told apart by type and subtype.',
    rows: [...Object.entries(SES_EVENTS), ...Object.entries(SES_BOUNCES)],
  },
  {
    title: 'aws-sms',
    words: 'SMS by AWS End User Messaging. In front stands `TEXT_`, `MEDIA_` or `RCS_`.',
    rows: Object.entries(AWS_SMS_EVENTS),
  },
  {
    title: 'sns',
    words: 'SMS by Amazon SNS, from the record of a delivery. `SUCCESS` is delivered; a failure goes by its words.',
    rows: Object.entries(SNS_FAILURES).map(([words, { meaning }]) => [words, meaning]),
  },
  {
    title: 'acs',
    words: 'Email by Azure Communication Services.',
    rows: [...Object.entries(ACS_STATUSES), ...Object.entries(ACS_ENGAGEMENTS)],
  },
]

const HEAD = `# Receipts

What vendors say of a message after they took it, and what it means here. [The guide](../guides/receipts.md) tells how
they are set up. Anything else that a vendor sends to a webhook is kept and changes nothing.`

function section({ title, words, rows }: Section): string {
  const lines = rows.map(([word, meaning]) => `| \`${word}\` | ${meaning.words} | ${comesTo(meaning)} |`)
  return [`## ${title}`, '', words, '', '| vendor’s word | meaning | comes to |', '|---|---|---|', ...lines].join('\n')
}

function comesTo(meaning: Meaning): string {
  if (meaning.means === 'nothing') return 'nothing'
  return 'rule' in meaning ? `${meaning.means}; ${follows(meaning.rule)}` : meaning.means
}

function follows(rule: Rule): string {
  switch (rule.does) {
    case 'dead':
      return 'the next channel takes over, and the address is not used again'
    case 'fail':
      return 'the next channel takes over'
    case 'halt':
      return 'the next channel takes over; the account needs mending'
    case 'retry':
    case 'throttle':
    case 'defer':
    case 'unmapped':
    case 'unknown':
      return 'the next channel takes over; it may be tried again'
  }
}
