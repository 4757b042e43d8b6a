import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../app/api.ts'

/** What is shown where there is nothing to show: what that means, and what to do about it. */
export function Blank({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Stack align="center" gap={6} py={48} px="md">
      <Title order={2} ta="center">
        {title}
      </Title>
      <Text component="div" c="dimmed" ta="center" maw={560}>
        {children}
      </Text>
      {action && <Group mt="sm">{action}</Group>}
    </Stack>
  )
}

export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <Stack gap={10} p="md" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines that are all alike have nothing else.
        <Skeleton key={place} height={18} />
      ))}
    </Stack>
  )
}

const TITLES: Record<string, string> = {
  forbidden: 'Your key does not let you see this',
  not_found: 'There is nothing with this id',
  unreachable: 'The server cannot be reached',
}

/** What went wrong, in the server's words, with what its log knows it by. */
export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof ApiError ? error : null
  return (
    <Alert
      color="red"
      variant="outline"
      title={TITLES[known?.code ?? ''] ?? 'This could not be loaded'}
      role="alert"
      m="md"
    >
      <Text>{known?.message ?? 'Something on this page went wrong.'}</Text>
      {known?.requestId && (
        <Text size="xs" mt={4}>
          Request <span className="mono">{known.requestId}</span>: the server’s log has it under this id.
        </Text>
      )}
      {retry && (
        <Button mt="sm" size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}
