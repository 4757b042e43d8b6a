import './catalogue.css'
import { Stack, Text, Title } from '@mantine/core'
import type { EventType as EventTypeOf } from '@pillarbox/client'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCatalogue } from '../app/event-types.ts'
import { useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { durationWords } from '../parts/duration.ts'
import { Panel } from '../parts/panel.tsx'
import { Matrix } from '../templates/matrix.tsx'
import { deliveryMeaning, deliveryWords, onceWords, recipientWords, TimingLine } from './event-type-words.tsx'

/** One event type: what it means, and in which words it is told. */
export function EventType() {
  const { name } = useParams({ from: '/shell/catalogue/$name' })
  const scope = useScope()
  const { data, error, refetch } = useCatalogue(scope)
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const type = data.items.find((each) => each.name === name)
  if (!type)
    return (
      <Blank title={`The catalogue has no event type ${name}`} action={<Link to="/catalogue">To the catalogue</Link>} />
    )
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/catalogue">Catalogue</Link>
      </Text>
      <div>
        <Title order={1} style={{ overflowWrap: 'anywhere' }}>
          {type.name}
        </Title>
        <Text c="dimmed">{type.description}</Text>
      </div>
      <Panel title="When it is told">
        <div className="inside">
          <TimingLine eventType={type} />
        </div>
      </Panel>
      <div className="two">
        <Panel title="What it means">
          <div className="inside">
            <Meaning type={type} />
          </div>
        </Panel>
        <Panel title="Payload">
          <div className="inside">
            {type.payload ? (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
              <pre className="said mono" tabIndex={0}>
                {JSON.stringify(type.payload, null, 2)}
              </pre>
            ) : (
              <Text c="dimmed">Anything: it has no schema.</Text>
            )}
          </div>
        </Panel>
      </div>
      <Matrix type={type.name} eventType={type} scope={scope} />
    </Stack>
  )
}

function Meaning({ type }: { type: EventTypeOf }) {
  const { entity, cancelledBy, approval, secrets, expiresAfter, onUndeliverable, replaces, scopes } = type
  const facts: Record<string, ReactNode> = {
    about: entity ?? null,
    tells: recipientWords(type),
    on: `${deliveryWords(type)}${deliveryMeaning(type) === '' ? '' : `: ${deliveryMeaning(type)}`}`,
    'how often': onceWords(type),
    approval: approval ? 'somebody has to approve it' : null,
    'cancelled by': cancelledBy && cancelledBy.length > 0 ? cancelledBy.join(', ') : null,
    replaces: replaces ? 'a later one takes the place of one that still waits' : null,
    'expires after': expiresAfter ? durationWords(expiresAfter) : null,
    undeliverable: onUndeliverable ? (onUndeliverable === 'fail' ? 'fails' : 'is parked') : null,
    'sealed fields': secrets && secrets.length > 0 ? secrets.join(', ') : null,
    scopes: scopes ? Object.keys(scopes).join(', ') || null : null,
  }
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null)
        .map(([key, value]) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      <dt>events</dt>
      <dd>
        <Link to="/events" search={{ type: type.name }}>
          look at them
        </Link>
      </dd>
    </dl>
  )
}
