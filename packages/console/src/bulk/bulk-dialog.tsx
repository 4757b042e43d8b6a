import { Button, Group, Modal, Text } from '@mantine/core'
import type { BulkPreview } from '@pillarbox/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Query } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import type { Act } from '../parts/acts.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { type HowForm, HowToDoIt, howOf, initialHow, mustTypeNumber } from './how.tsx'
import { PreviewWords } from './preview-words.tsx'
import { tellStarted } from './undo-toast.tsx'

/** What an act is to be done to: these, or whatever a filter finds. */
export type Chosen = { ids: readonly string[] } | { filter: Query }

interface BulkDialogProps {
  act: Act
  chosen: Chosen
  scope: Scope
  close: () => void
  /** Once it is under way. */
  started: () => void
}

/** Shows what an act on many would do, and starts it. What it was shown for is what is done, and nothing else. */
export function BulkDialog({ act, chosen, scope, close, started }: BulkDialogProps) {
  const [how, setHow] = useState<HowForm>(() => initialHow(act))
  const queries = useQueryClient()
  const navigate = useNavigate()
  const preview = useQuery({
    queryKey: ['bulk preview', scope.tenantId, act.word, JSON.stringify(chosen)],
    queryFn: () =>
      call<BulkPreview>('POST', '/api/notifications/bulk/preview', scope.query, {
        action: act.name,
        ...narrowed(chosen, act),
        ...(act.rerender && { options: { rerender: true } }),
      }),
    // It is a choice that was written down, not something to be read again.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnReconnect: false,
  })
  const start = useMutation({
    mutationFn: ({ token }: BulkPreview) =>
      call<{ operationId: string }>('POST', '/api/notifications/bulk', scope.query, { token, ...howOf(how) }),
    onSuccess: async ({ operationId }, { count }) => {
      close()
      started()
      tellStarted({
        id: operationId,
        scope,
        words: `${act.word}: ${countOf(count)}`,
        graceMs: how.graceSeconds * 1_000,
        watch: () => void navigate({ to: '/operations/$id', params: { id: operationId } }),
      })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
  })
  const { data } = preview
  const isTyped = !data || !mustTypeNumber(act, data) || how.typed.trim() === String(data.count)
  return (
    <Modal opened onClose={close} size="lg" title={act.word} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Text mb="sm">{act.saysOfMany}</Text>
      {!data && (preview.error ? <Trouble error={preview.error} retry={() => void preview.refetch()} /> : <Loading />)}
      {data && <PreviewWords preview={data} act={act} scope={scope} />}
      {data && data.count > 0 && <HowToDoIt act={act} preview={data} how={how} change={setHow} />}
      <Refusal error={start.error} title="It was not started" />
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        {data && data.count > 0 && (
          <Button onClick={() => start.mutate(data)} loading={start.isPending} disabled={!isTyped}>
            {act.word} {countOf(data.count)}
          </Button>
        )}
      </Group>
    </Modal>
  )
}

/** Without a state in the filter only those are looked at that can be moved at all: the others were not meant. */
function narrowed(chosen: Chosen, { from }: Act): Chosen {
  if ('ids' in chosen || chosen.filter['status'] !== undefined) return chosen
  return { filter: { ...chosen.filter, status: from } }
}

function countOf(count: number): string {
  return `${count.toLocaleString('en')} notification${count === 1 ? '' : 's'}`
}
