import { Button, Text, Textarea } from '@mantine/core'
import type { Suppression } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { type Scope, useCanConfigure } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Mark, SHAPES } from '../parts/mark.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { suppressionCause } from '../parts/suppression-cause.ts'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

const SUPPRESSED = { tone: 'bad', shape: SHAPES.dash, means: 'Nothing is sent to it on this channel.' } as const

/** Addresses that are not used, why, and what taught us. */
export function Suppressions({ scope, address }: { scope: Scope; address: string | undefined }) {
  const canLift = useCanConfigure()
  const [chosen, choose] = useState<Suppression | null>(null)
  const list = usePaged<Suppression>('/api/suppressions', scope, { address })
  return (
    <section className="panel" aria-label="Suppressed addresses">
      <PagedList
        list={list}
        lines={2}
        blank={
          <Blank title={address ? 'This address is not suppressed' : 'No address is suppressed'}>
            One that a provider calls dead, that bounces, or whose owner complains would stand here, with what taught
            us.
          </Blank>
        }
      >
        {(suppressions) => (
          <table className="rows cards">
            <Heads names={['state', 'address', 'channel', 'why', 'since', ...(canLift ? ['acts'] : [])]} />
            <tbody>
              {suppressions.map((suppression) => (
                <tr key={suppression.id}>
                  <td>
                    <Mark look={SUPPRESSED} word="suppressed" />
                  </td>
                  <td style={{ overflowWrap: 'anywhere' }}>{suppression.address}</td>
                  <td>{channelWord(suppression.channel)}</td>
                  <td data-wide="">
                    <Why suppression={suppression} />
                  </td>
                  <td>
                    <When at={suppression.createdAt} />
                  </td>
                  {canLift && (
                    <td>
                      <Button size="compact-xs" variant="default" onClick={() => choose(suppression)}>
                        Lift…
                      </Button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
      {chosen && <Lift suppression={chosen} scope={scope} close={() => choose(null)} />}
    </section>
  )
}

function Why({ suppression: { cause, error, notificationId, createdBy } }: { suppression: Suppression }) {
  return (
    <>
      {suppressionCause(cause)}
      {cause === 'operator' && `, by ${createdBy}`}
      {error !== null && <div style={{ color: 'var(--mantine-color-dimmed)' }}>{error}</div>}
      {notificationId !== null && (
        <div>
          <Link to="/notifications/$id" params={{ id: notificationId }}>
            the notification that taught us
          </Link>
        </div>
      )}
    </>
  )
}

function Lift({ suppression, scope, close }: { suppression: Suppression; scope: Scope; close: () => void }) {
  const [note, setNote] = useState('')
  return (
    <AskDialog
      title={`Use ${suppression.address} again`}
      word="Lift"
      isReady={note.trim() !== ''}
      perform={() => call('POST', `/api/suppressions/${suppression.id}/lift`, scope.query, { note: note.trim() })}
      done={() => 'The address is used again. What was stopped by it stays parked: retry it.'}
      close={close}
    >
      <Text>
        It is suppressed on {channelWord(suppression.channel)}, because {suppressionCause(suppression.cause)}
        {suppression.error === null ? '' : ` (${suppression.error})`}. Writing to addresses that bounce or complain
        harms the sender’s name with its provider.
      </Text>
      <Textarea
        mt="sm"
        label="Why may it be used again?"
        description="It stays on record with your name."
        value={note}
        onChange={({ currentTarget }) => setNote(currentTarget.value)}
        autosize
        minRows={2}
        maxLength={1_000}
        required
        data-autofocus
      />
    </AskDialog>
  )
}
