import type { NotificationDetail } from '@pillarbox/client'
import { span } from '../parts/when.tsx'

/** One step of a notification's way, or a wait between two. */
export interface Step {
  at: string
  kind: 'step' | 'trouble' | 'good' | 'person' | 'wait' | 'next'
  /** What it tells of; a first attempt is waited for otherwise than a later one. */
  of: 'beginning' | 'schedule' | 'first attempt' | 'attempt' | 'receipt' | 'act' | 'time'
  what: string
  /** More about it, in the words of a provider or a person. */
  detail?: string
  /** The page of what it is about. */
  event?: string
}

/** A shorter wait is not worth a line. */
const WAIT_MS = 1_000

/** Everything that happened to it, oldest first, the waits between in words, and what comes next. */
export function storyOf(notification: NotificationDetail): Step[] {
  const steps = [
    ...beginningOf(notification),
    ...attemptsOf(notification),
    ...receiptsOf(notification),
    ...actsOf(notification),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
  return [...withWaits(steps), ...whatIsNext(notification)]
}

function beginningOf({ event, schedule, createdAt, templateVersion, locale, eventType }: NotificationDetail): Step[] {
  const words = [templateVersion !== null && `version ${templateVersion}`, locale].filter(Boolean).join(', ')
  return [
    ...(event
      ? [
          {
            at: event.createdAt,
            kind: 'step' as const,
            of: 'beginning' as const,
            what: `Event ${event.type} about ${event.entity.type} ${event.entity.id}`,
            event: event.id,
          },
        ]
      : []),
    ...(schedule?.completedAt
      ? [
          {
            at: schedule.completedAt,
            kind: 'step' as const,
            of: 'schedule' as const,
            what: 'Its schedule came due and was planned',
          },
        ]
      : []),
    {
      at: createdAt,
      kind: 'step',
      of: 'beginning',
      what: eventType === null ? 'Notification taken' : 'Notification made',
      ...(words !== '' && { detail: `template ${words}` }),
    },
  ]
}

const OUTCOMES: Record<string, { kind: Step['kind']; words: string }> = {
  accepted: { kind: 'good', words: 'taken by' },
  transient: { kind: 'trouble', words: 'failed for now at' },
  permanent: { kind: 'trouble', words: 'refused by' },
  throttled: { kind: 'trouble', words: 'slowed down by' },
  unauthorized: { kind: 'trouble', words: 'not let in by' },
  unknown: { kind: 'trouble', words: 'handed to, and never answered by,' },
}

function attemptsOf({ attempts }: NotificationDetail): Step[] {
  return attempts.map(({ number, outcome, startedAt, durationMs, provider, code, error, late }) => {
    const { kind, words } = OUTCOMES[outcome] ?? { kind: 'step', words: `${outcome} at` }
    const said = [code, error].filter((each) => each !== null).join(': ')
    return {
      at: new Date(Date.parse(startedAt) + durationMs).toISOString(),
      kind,
      of: number === 1 ? 'first attempt' : 'attempt',
      what: `Attempt ${number} ${words} ${provider} in ${span(durationMs)}${late ? ', after another worker had taken over' : ''}`,
      ...(said !== '' && { detail: said }),
    }
  })
}

function receiptsOf({ receipts }: NotificationDetail): Step[] {
  return receipts.map(({ kind, at, provider, error, recipient }) => ({
    at,
    kind: kind === 'delivered' || kind === 'read' ? 'good' : kind === 'sent' ? 'step' : 'trouble',
    of: 'receipt',
    what: `${provider} reports: ${kind}${recipient === null ? '' : `, of ${recipient}`}`,
    ...(error !== null && { detail: error }),
  }))
}

/** What people did; what the machine did is told by attempts and receipts, but for these. */
const OWN_ACTS = new Set(['move', 'hold', 'rescue', 'expire'])

function actsOf({ audit }: NotificationDetail): Step[] {
  return audit
    .filter(({ actor, action }) => actor !== 'system' || OWN_ACTS.has(action))
    .map(({ at, actor, action, note, to, reason }) => ({
      at,
      kind: 'person' as const,
      of: 'act' as const,
      what: `${actor}: ${action}${to === null ? '' : `, now ${to}`}`,
      ...((note ?? reason) !== null && { detail: note ?? reason ?? '' }),
    }))
}

function withWaits(steps: readonly Step[]): Step[] {
  return steps.flatMap((step, i) => {
    const before = steps[i - 1]
    const ms = before ? Date.parse(step.at) - Date.parse(before.at) : 0
    if (!before || ms < WAIT_MS) return [step]
    return [{ at: before.at, kind: 'wait', of: 'time', what: `waited ${span(ms)} ${whyWaited(before, step)}` }, step]
  })
}

function whyWaited(before: Step, { of }: Step): string {
  switch (of) {
    case 'first attempt':
      return before.kind === 'trouble' ? 'until the next attempt' : 'for its turn on the account'
    case 'attempt':
      return before.kind === 'trouble' ? 'until the next attempt' : 'in between'
    case 'schedule':
      return 'until its time'
    case 'receipt':
      return 'for the provider to report'
    case 'act':
      return 'until somebody acted'
    default:
      return 'in between'
  }
}

function whatIsNext({ status, nextAttemptAt, waitingFor, stuck }: NotificationDetail): Step[] {
  const at = nextAttemptAt ?? new Date().toISOString()
  if (waitingFor)
    return [
      {
        at: waitingFor.until ?? at,
        kind: 'next',
        of: 'time',
        what:
          waitingFor.why === 'paused'
            ? 'Waits for its account: the vendor refused the credentials'
            : 'Waits for its account, which is held back',
        ...(waitingFor.detail !== null && { detail: waitingFor.detail }),
      },
    ]
  switch (status) {
    case 'queued':
    case 'retrying':
      return [
        { at, kind: 'next', of: 'time', what: stuck ? 'Due, and nobody takes it: is a worker running?' : 'To be sent' },
      ]
    case 'sending':
      return [{ at, kind: 'next', of: 'time', what: 'A worker is calling the provider' }]
    case 'parked':
      return [{ at, kind: 'next', of: 'time', what: 'Waits for somebody: retry it, or discard it' }]
    case 'uncertain':
      return [
        {
          at,
          kind: 'next',
          of: 'time',
          what: 'Waits for a receipt, or for somebody who knows whether it arrived: it may have',
        },
      ]
    default:
      return []
  }
}
