import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { SandboxFaults } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { useCanAct, useScope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { channelWord } from '../parts/to.tsx'
import { FaultForm } from './fault-form.tsx'
import { faultWords, useFaults } from './use-faults.ts'

/** How the pretend vendor misbehaves: what fails, when, and how to end it. */
export function Faults() {
  const scope = useScope()
  const canAct = useCanAct()
  const { data, error, refetch } = useFaults(scope)
  const [dialog, open] = useState<'add' | 'stop' | null>(null)
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/sandbox">Sandbox</Link>
      </Text>
      <Group justify="space-between">
        <Title order={1}>Faults</Title>
        {canAct && (
          <Group gap="xs">
            {data.items.length > 0 && (
              <Button size="xs" variant="default" onClick={() => open('stop')}>
                Stop all…
              </Button>
            )}
            <Button size="xs" onClick={() => open('add')}>
              Add a fault…
            </Button>
          </Group>
        )}
      </Group>
      <Text c="dimmed">
        Only sandbox accounts misbehave. Of an account’s faults the first that applies decides a call; what the vendor
        then said stands with the attempt.
      </Text>
      <Panel title="Active">
        {data.items.length === 0 ? (
          <Blank title="The sandbox behaves">
            Add a fault to see what your notifications do when a vendor is slow, refuses, or takes a message and never
            answers. Without any, addresses such as <span className="mono">ana+bounce@example.com</span> misbehave by
            themselves.
          </Blank>
        ) : (
          <FaultTable items={data.items} />
        )}
      </Panel>
      <Panel title="What can go wrong">
        <table className="rows cards">
          <Heads names={['kind', 'what the vendor does']} />
          <tbody>
            {data.kinds.map(({ kind, does }) => (
              <tr key={kind}>
                <td className="mono">{kind}</td>
                <td data-wide="">{does.replaceAll('`', '')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      {dialog === 'add' && <FaultForm kinds={data.kinds} scope={scope} close={() => open(null)} />}
      {dialog === 'stop' && (
        <AskDialog
          title="Stop all faults"
          word="Stop all"
          perform={() => call<{ stopped: number }>('DELETE', '/api/sandbox/faults', scope.query)}
          done={({ stopped }) => `${stopped} faults were stopped.`}
          close={() => open(null)}
        >
          <Text>The sandbox accounts of this tenant accept everything again.</Text>
        </AskDialog>
      )}
    </Stack>
  )
}

function FaultTable({ items }: { items: SandboxFaults['items'] }) {
  return (
    <table className="rows cards">
      <Heads names={['account', 'channel', 'fault']} />
      <tbody>
        {items.map(({ account, index, fault }) => (
          <tr key={`${account.id} ${index}`}>
            <td>{account.name}</td>
            <td>{channelWord(account.channel)}</td>
            <td data-wide="">{faultWords(fault)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
