import { Button } from '@mantine/core'
import type { NotificationView } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Scope, useCanAct } from '../app/session.ts'
import { ActionBar } from '../bulk/action-bar.tsx'
import { BulkDialog } from '../bulk/bulk-dialog.tsx'
import { useSelection } from '../bulk/selection.ts'
import { type Act, BULK_ACTS } from '../parts/acts.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { NoneSoFar, Older, usePaged } from '../parts/paged.tsx'
import { type Filter, isNarrowed, queryOf } from './filter.ts'
import { NotificationTable } from './notification-table.tsx'
import { useStillList } from './still-list.ts'

/** Keys on a row that ask for an act. They open its dialog, and do nothing else. */
const ACT_KEYS: Record<string, string> = { r: 'Retry', d: 'Discard' }

/** The notifications one by one, and what is done to those that are ticked. */
export function Rows({ scope, filter }: { scope: Scope; filter: Filter }) {
  const question = `${scope.tenantId} ${JSON.stringify(filter)}`
  const list = usePaged<NotificationView>('/api/notifications', scope, queryOf(filter), { question: filter })
  const still = useStillList(list.isPlaceholderData ? undefined : list.items, question)
  const canAct = useCanAct()
  const selection = useSelection(question)
  const [act, choose] = useState<Act | null>(null)

  function onActKey(key: string, id: string): void {
    const wanted = BULK_ACTS.find(({ word }) => word === ACT_KEYS[key])
    if (!wanted) return
    if (selection.count === 0) selection.set([id])
    choose(wanted)
  }

  if (!list.items) return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Loading />
  return (
    <>
      {list.error && <Trouble error={list.error} retry={() => void list.refetch()} />}
      {canAct && still.rows.length > 0 && (
        <ActionBar
          selection={selection}
          rows={still.rows}
          statuses={filter.status?.split(',') ?? null}
          act={(wanted) => choose(wanted)}
        />
      )}
      <div aria-live="polite">
        {still.newCount > 0 && (
          <Button fullWidth variant="light" radius={0} onClick={still.showNew}>
            +{still.newCount} new · show
          </Button>
        )}
      </div>
      {still.rows.length === 0 ? (
        list.hasNextPage ? (
          <NoneSoFar />
        ) : (
          <Nothing filter={filter} />
        )
      ) : (
        <NotificationTable rows={still.rows} selection={canAct ? selection : null} onActKey={onActKey} />
      )}
      <Older list={list} before={still.showNew} />
      {act && (
        <BulkDialog
          act={act}
          chosen={selection.isAllMatching ? { filter: queryOf(filter) } : { ids: [...selection.ticked] }}
          scope={scope}
          close={() => choose(null)}
          started={selection.clear}
        />
      )}
    </>
  )
}

function Nothing({ filter }: { filter: Filter }) {
  if (!isNarrowed(filter))
    return (
      <Blank title="No notification yet">
        They come of events, or of <span className="mono">POST /api/notifications</span>.{' '}
        <Link to="/events">Look at the events</Link> to see whether any came, and what became of them.
      </Blank>
    )
  return (
    <Blank
      title="None match"
      action={
        <Link to="/notifications" search={{}}>
          Clear all filters
        </Link>
      }
    >
      Search finds an id, an idempotency key, a provider’s id or an address only if it is given whole.
    </Blank>
  )
}
