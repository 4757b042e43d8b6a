import { Alert, Text } from '@mantine/core'
import { ApiError } from '../app/api.ts'

/** What the server did not do, and why, beside what was asked for. */
export function Refusal({ error, title = 'It was not done' }: { error: unknown; title?: string }) {
  if (!error) return null
  const known = error instanceof ApiError ? error : null
  return (
    <Alert color="red" variant="outline" mt="sm" role="alert" title={title}>
      {known?.message ?? 'Something on this page went wrong.'}
      {known && known.errors.length > 0 && (
        <ul style={{ margin: '4px 0 0', paddingLeft: 18 }}>
          {known.errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {path !== '' && <span className="mono">{path} </span>}
              {message}
            </li>
          ))}
        </ul>
      )}
      {known?.requestId && <Text size="xs">Request {known.requestId}</Text>}
    </Alert>
  )
}
