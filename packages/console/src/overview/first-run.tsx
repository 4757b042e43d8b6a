import { Button, Group, Text } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { AcceptedEvent, Kpis } from '@pillarbox/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { call, get } from '../app/api.ts'
import { type Scope, useSession } from '../app/session.ts'
import { Panel } from '../parts/panel.tsx'

/** The event that the ready-made catalogue of bookings knows, to nobody who exists. */
const SAMPLE = {
  type: 'booking.confirmed',
  payload: { bookingId: 1, guestName: 'Ana', guestPhone: '+12025550100', guestEmail: 'ana@example.com' },
}

/** For whoever has just begun: one real event through the whole machine. */
export function FirstRun({ kpis, scope }: { kpis: Kpis; scope: Scope }) {
  const { data: session } = useSession()
  const isEmpty = kpis.total.counts?.created === 0 && kpis.total.queueDepth === 0 && kpis.total.parkedCount === 0
  const canPublish = session?.role === 'admin' || session?.role === 'ops'
  const { data: types } = useQuery({
    queryKey: ['event-types', scope.tenantId],
    queryFn: () => get<{ eventTypes?: unknown; items?: unknown }>('/api/event-types', scope.query),
    enabled: isEmpty && canPublish,
    staleTime: 60_000,
  })
  const navigate = useNavigate()
  const send = useMutation({
    mutationFn: () =>
      call<AcceptedEvent>('POST', '/api/events', scope.query, {
        ...SAMPLE,
        entity: { type: 'booking', id: String(Date.now()) },
      }),
    onSuccess: ({ id }) => void navigate({ to: '/events/$id', params: { id } }),
    onError: (error) => toasts.show({ color: 'red', title: 'The event was not taken', message: error.message }),
  })
  if (!isEmpty) return null
  const knowsSample = JSON.stringify(types ?? '').includes(`"${SAMPLE.type}"`)
  return (
    <Panel title="Nothing has happened here lately">
      <Group className="inside" gap="lg">
        <Text style={{ flex: '1 1 320px' }}>
          Publish an event, in a transaction of your own or with <span className="mono">POST /api/events</span>, and
          what comes of it stands here within a second.
          {knowsSample &&
            ' This tenant knows bookings: one event sends an email and a text message to the sandbox, and nothing leaves this machine.'}
        </Text>
        {canPublish && knowsSample && (
          <Button onClick={() => send.mutate()} loading={send.isPending}>
            Send a first event
          </Button>
        )}
      </Group>
    </Panel>
  )
}
