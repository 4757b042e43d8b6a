import type { Cause } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { BulkDialog } from '../bulk/bulk-dialog.tsx'
import type { Act } from '../parts/acts.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { CauseTable } from './cause-table.tsx'
import { type Filter, queryOf } from './filter.ts'

/** What has stopped, by what it has in common; what was mended is retried as a group. */
export function ByCause({ scope, filter }: { scope: Scope; filter: Filter }) {
  const canAct = useCanAct()
  const [chosen, choose] = useState<{ act: Act; cause: Cause } | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'causes', scope.tenantId, JSON.stringify(filter)],
    queryFn: () =>
      get<{ items: Cause[]; complete: boolean }>('/api/notifications/causes', { ...scope.query, ...queryOf(filter) }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  if (data.items.length === 0)
    return (
      <Blank title="Nothing has stopped">
        Only what is parked, uncertain, failed, discarded or skipped has a cause.
      </Blank>
    )
  const { group: _, ...search } = filter
  return (
    <>
      <CauseTable
        causes={data.items}
        caption="Why notifications have stopped"
        search={{ ...search }}
        act={canAct ? (act, cause) => choose({ act, cause }) : undefined}
      />
      {!data.complete && <p className="note">Only the newest 100,000 were looked at: narrow the list to see others.</p>}
      {chosen && (
        <BulkDialog
          act={chosen.act}
          chosen={{ filter: { ...queryOf(filter), fingerprint: chosen.cause.fingerprint } }}
          scope={scope}
          close={() => choose(null)}
          started={() => {}}
        />
      )}
    </>
  )
}
