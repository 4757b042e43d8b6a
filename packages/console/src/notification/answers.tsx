import { Text } from '@mantine/core'
import type { NotificationDetail } from '@pillarbox/client'
import { Panel } from '../parts/panel.tsx'
import { span } from '../parts/when.tsx'

/** What the provider said to each try, as it said it. */
export function Answers({ attempts }: { attempts: NotificationDetail['attempts'] }) {
  if (attempts.length === 0) return null
  return (
    <Panel title="The provider’s answers">
      <div className="inside">
        {attempts.toReversed().map(({ number, outcome, provider, durationMs, answer, providerMessageId, code }) => (
          <div key={number} style={{ marginBottom: 12 }}>
            <Text size="sm" fw={550}>
              Try {number}: {outcome}
              {code !== null && ` (${code})`} from {provider} in {span(durationMs)}
            </Text>
            {providerMessageId !== null && (
              <Text size="xs" c="dimmed" className="mono" style={{ overflowWrap: 'anywhere' }}>
                {providerMessageId}
              </Text>
            )}
            {answer === null ? (
              <Text size="sm" c="dimmed">
                Nothing of its answer is kept.
              </Text>
            ) : (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
              <pre className="said mono" tabIndex={0}>
                {answer}
              </pre>
            )}
          </div>
        ))}
      </div>
    </Panel>
  )
}
