import { Button, SegmentedControl } from '@mantine/core'
import type { Alert } from '@pillarbox/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Mark, SHAPES } from '../parts/mark.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { When } from '../parts/when.tsx'

const EVERYWHERE = { tenantId: '', query: {} }

/** What is wrong, and what was, over all tenants. */
export function Alerts() {
  const { alerts } = useSearch({ from: '/shell/workers' })
  const navigate = useNavigate({ from: '/workers' })
  const [seen, setSeen] = useState<Alert | null>(null)
  const list = usePaged<Alert>(
    '/ops/alerts',
    EVERYWHERE,
    { status: alerts === 'all' ? undefined : 'open' },
    { everyMs: 10_000 },
  )
  return (
    <Panel
      title="Alerts"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Which alerts"
          value={alerts ?? 'open'}
          data={[
            { value: 'open', label: 'open' },
            { value: 'all', label: 'cleared ones too' },
          ]}
          onChange={(value) => void navigate({ search: { alerts: value === 'all' ? 'all' : undefined } })}
        />
      }
    >
      <PagedList
        list={list}
        lines={2}
        blank={
          <Blank title="Nothing is wrong">
            What is stuck, an account whose breaker is open, or a server without workers would stand here, and be told
            to whom PILLARBOX_ALERT_TO names.
          </Blank>
        }
      >
        {(found) => (
          <table className="rows cards">
            <Heads names={['state', 'what is wrong', 'tenant', 'since', 'acts']} />
            <tbody>
              {found.map((alert) => (
                <tr key={alert.id}>
                  <td>
                    <AlertMark alert={alert} />
                  </td>
                  <td data-wide="">
                    {alert.summary}
                    <div style={{ color: 'var(--mantine-color-dimmed)' }}>{alert.advice}</div>
                  </td>
                  <td>{alert.tenantId ?? '–'}</td>
                  <td>
                    <When at={alert.since} />
                  </td>
                  <td>
                    {alert.status === 'open' && alert.acknowledgedAt === null && (
                      <Button size="compact-xs" variant="default" onClick={() => setSeen(alert)}>
                        Acknowledge…
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
      {seen && (
        <AskDialog
          title="Acknowledge this alert"
          word="Acknowledge"
          takesNote
          perform={(note) =>
            call<Alert>('POST', `/ops/alerts/${seen.id}/acknowledge`, {}, note === '' ? undefined : { note })
          }
          done={() => 'It is told no more until it is cleared.'}
          close={() => setSeen(null)}
        >
          {seen.summary}
        </AskDialog>
      )}
    </Panel>
  )
}

function AlertMark({ alert: { status, acknowledgedBy } }: { alert: Alert }) {
  if (status === 'cleared')
    return <Mark look={{ tone: 'calm', shape: SHAPES.tick, means: 'It is over.' }} word="cleared" />
  if (acknowledgedBy !== null)
    return <Mark look={{ tone: 'warn', shape: SHAPES.few, means: `Seen by ${acknowledgedBy}.` }} word="seen" />
  return (
    <Mark look={{ tone: 'bad', shape: SHAPES.hand, means: 'Nobody has said that they have seen it.' }} word="open" />
  )
}
