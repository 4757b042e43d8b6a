import { Button, Group, Text } from '@mantine/core'
import type { AuditChain } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { Mark, SHAPES } from '../parts/mark.tsx'

/** Whether the audit is as it was written, when somebody asks: it reads every row. */
export function ChainState({ scope }: { scope: Scope }) {
  const canAsk = useCanAct()
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['audit-chain', scope.tenantId],
    queryFn: () => get<AuditChain>('/api/audit/chain', scope.query),
    enabled: false,
  })
  return (
    <Group gap="sm" role="status">
      <Verdict chain={data} />
      {error && <Text style={{ color: 'var(--pbx-bad)' }}>{error.message}</Text>}
      {canAsk && (
        <Button size="xs" variant="default" loading={isFetching} onClick={() => void refetch()}>
          Verify the chain
        </Button>
      )}
    </Group>
  )
}

function Verdict({ chain }: { chain: AuditChain | undefined }) {
  if (!chain)
    return <Text c="dimmed">Rows are chained by hashes as they are written: whoever changes one breaks the chain.</Text>
  if (chain.fault)
    return (
      <>
        <Mark look={{ tone: 'bad', shape: SHAPES.cross, means: chain.fault.message }} word="not as it was written" />
        <Text>
          {chain.fault.message} (link {chain.fault.link}
          {chain.fault.rowId !== null && `, row ${chain.fault.rowId}`})
        </Text>
      </>
    )
  const rest = [
    `${chain.rows.toLocaleString('en')} rows in ${chain.links} links`,
    chain.unchained > 0 && `${chain.unchained} newer ones wait for their link`,
    chain.purged > 0 && `${chain.purged} removed by retention`,
    !chain.isWhole && 'there are more: “pillarbox audit verify” reads all',
  ].filter((part) => part !== false)
  return (
    <>
      <Mark look={{ tone: 'good', shape: SHAPES.tick, means: 'Every row is as it was chained.' }} word="verified" />
      <Text c="dimmed">{rest.join(' · ')}</Text>
    </>
  )
}
