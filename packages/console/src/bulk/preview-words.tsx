import { Alert, Text } from '@mantine/core'
import type { BulkPreview, Cause } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { useAccountNames } from '../app/accounts.ts'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import type { Act } from '../parts/acts.ts'
import { channelWord } from '../parts/to.tsx'
import { span } from '../parts/when.tsx'

/** What an act would do, as the server counted it. */
export function PreviewWords({ preview, act, scope }: { preview: BulkPreview; act: Act; scope: Scope }) {
  const { count, possibleDuplicates, skipped, by, estimatedSeconds } = preview
  const accounts = useAccountNames(scope)
  const causes = useCauseWords(scope, Object.keys(by.fingerprint).length > 0)
  return (
    <>
      {count === 0 ? (
        <Text fw={600}>None of them can be moved by this.</Text>
      ) : (
        <div className="splits">
          <Split title="by channel" counts={by.channel} nameOf={channelWord} />
          <Split title="by account" counts={by.accountId} nameOf={(id) => accounts.get(id) ?? NAMED[id] ?? id} />
          <Split
            title="by cause"
            counts={by.fingerprint}
            nameOf={(print) => causes.get(print) ?? NAMED[print] ?? print}
          />
        </div>
      )}
      {act.isSending && possibleDuplicates > 0 && (
        <Alert color="orange" variant="outline" mt="sm" title={`${possibleDuplicates} may arrive twice`}>
          Nobody knows whether an earlier try of theirs arrived. Where the provider does not honour idempotency keys,
          those recipients get it again.
        </Alert>
      )}
      {skipped.length > 0 && (
        <Text mt="sm" size="sm">
          Left alone: {skipped.map(({ why, count: many }) => `${many.toLocaleString('en')} (${why})`).join(', ')}.
        </Text>
      )}
      {act.isSending && count > 0 && (
        <Text mt={4} size="sm" c="dimmed">
          {estimatedSeconds < 1
            ? 'At the pace of their accounts this takes no time worth naming.'
            : `At the pace of their accounts this takes about ${span(estimatedSeconds * 1_000)}.`}
        </Text>
      )}
    </>
  )
}

const NAMED: Record<string, string> = { none: 'no account yet', others: 'others' }

/** The commonest are enough to see whether this is what was meant. */
const MOST_SHOWN = 6

function Split({
  title,
  counts,
  nameOf,
}: {
  title: string
  counts: Record<string, number>
  nameOf: (key: string) => string
}) {
  const all = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  if (all.length === 0) return null
  const rest = all.slice(MOST_SHOWN)
  return (
    <section aria-label={title}>
      <Text size="xs" c="dimmed">
        {title}
      </Text>
      <ul>
        {all.slice(0, MOST_SHOWN).map(([key, count]) => (
          <li key={key}>
            <strong>{count.toLocaleString('en')}</strong> <span>{nameOf(key)}</span>
          </li>
        ))}
        {rest.length > 0 && <li>and {rest.length} more</li>}
      </ul>
    </section>
  )
}

function useCauseWords(scope: Scope, isNeeded: boolean): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['live', 'causes', scope.tenantId, '{}'],
    queryFn: () => get<{ items: Cause[] }>('/api/notifications/causes', scope.query),
    enabled: isNeeded,
  })
  return new Map((data?.items ?? []).map(({ fingerprint, text, reason }) => [fingerprint, text || reason]))
}
