/** What is enqueued: 300 bytes of JSON, the same for every peer. */
export interface Payload {
  i: number
  to: string
  channel: string
  template: string
  locale: string
  vars: { name: string; order: string; text: string }
}

const FILL = 'Your order has shipped and will arrive on Thursday between nine and noon. '.repeat(4)
const BYTES = 300

export function payload(i: number): Payload {
  const made: Payload = {
    i,
    to: `user${i}@example.test`,
    channel: 'email',
    template: 'order-shipped',
    locale: 'en-GB',
    vars: { name: 'Ada Lovelace', order: `A-${1_000_000 + i}`, text: '' },
  }
  made.vars.text = FILL.slice(0, Math.max(0, BYTES - JSON.stringify(made).length))
  return made
}

/** What a template makes of it. */
export function wordsOf(i: number): { subject: string; body: string } {
  const { to, vars } = payload(i)
  return {
    subject: `Your order ${vars.order}`,
    body: `Dear ${vars.name}, ${vars.text} This message went to ${to}.`,
  }
}
