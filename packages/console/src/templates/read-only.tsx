import { Text } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { Panel } from '../parts/panel.tsx'
import { draftOf, textOf } from './words.ts'

/** For whoever may look and not write. */
export function ReadOnlyWords({ template }: { template: Template }) {
  return (
    <Panel title="Words">
      <div className="inside">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre className="said mono" tabIndex={0}>
          {textOf(draftOf(template))}
        </pre>
        <Text size="sm" c="dimmed" mt="xs">
          Changing them, and seeing them filled in, needs an admin’s key.
        </Text>
      </div>
    </Panel>
  )
}
