import type { Health } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { FactList } from '../parts/fact-list.tsx'
import { Mark, SHAPES } from '../parts/mark.tsx'
import { Panel } from '../parts/panel.tsx'

const LOOKS = {
  ok: { tone: 'good', shape: SHAPES.tick, means: 'All is well.' },
  degraded: { tone: 'warn', shape: SHAPES.hand, means: 'Something is not sent, or not in time.' },
  down: { tone: 'bad', shape: SHAPES.cross, means: 'Nothing can be taken in.' },
} as const

/** What runs here, and whether it is well. Its own settings are given when it is started. */
export function About() {
  const { data, error } = useQuery({
    queryKey: ['live', 'health'],
    queryFn: () => get<Health>('/health'),
    refetchInterval: 15_000,
  })
  return (
    <Panel title="This server">
      <div className="inside">
        {!data ? (
          error ? (
            <Trouble error={error} />
          ) : (
            <Loading lines={2} />
          )
        ) : (
          <FactList
            facts={{
              health: <Mark look={LOOKS[data.status]} word={data.status} />,
              ...Object.fromEntries(data.reasons.map(({ code, message }) => [code.replaceAll('_', ' '), message])),
              version: data.version,
              workers: `${data.workers.filter(({ status }) => status === 'alive').length} alive`,
              settings: (
                <>
                  Flags, environment and file, read at its start; <span className="mono">pillarbox doctor</span> says
                  what is wrong with them.
                </>
              ),
            }}
          />
        )}
      </div>
    </Panel>
  )
}
