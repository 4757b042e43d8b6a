import { Button } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../app/api.ts'
import { useCanAct, useScope } from '../app/session.ts'
import { useFaults } from './use-faults.ts'

/** On every page while the sandbox is told to misbehave: whoever wonders why things fail should not have to look for it. */
export function FaultBanner() {
  const scope = useScope()
  const { data } = useFaults(scope)
  const canAct = useCanAct()
  const queries = useQueryClient()
  const stop = useMutation({
    mutationFn: () => call<{ stopped: number }>('DELETE', '/api/sandbox/faults', scope.query),
    onSuccess: async ({ stopped }) => {
      toasts.show({ color: 'green', title: 'The sandbox behaves again', message: `${stopped} faults were stopped.` })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
    onError: (error) => toasts.show({ color: 'red', title: 'They were not stopped', message: error.message }),
  })
  const count = data?.items.length ?? 0
  if (count === 0) return null
  return (
    <section className="faulty" aria-label="Faults are active">
      <span>
        <strong>
          {count} {count === 1 ? 'fault is' : 'faults are'} active
        </strong>{' '}
        in the sandbox: <Link to="/sandbox/faults">what fails, and when</Link>
      </span>
      {canAct && (
        <Button size="compact-xs" variant="default" loading={stop.isPending} onClick={() => stop.mutate()}>
          Stop all
        </Button>
      )}
    </section>
  )
}
