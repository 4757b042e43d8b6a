import { Group, Input, SegmentedControl, useMantineColorScheme } from '@mantine/core'
import { setPreference, usePreference } from '../app/preferences.ts'
import { Panel } from '../parts/panel.tsx'
import { setZone, useZone } from '../parts/when.tsx'

interface ChoiceProps {
  label: string
  value: string
  choices: [value: string, word: string][]
  choose: (value: string) => void
}

function Choice({ label, value, choices, choose }: ChoiceProps) {
  return (
    <Input.Wrapper label={label} labelElement="div">
      <div>
        <SegmentedControl
          size="xs"
          mt={4}
          aria-label={label}
          value={value}
          data={choices.map(([each, word]) => ({ value: each, label: word }))}
          onChange={choose}
        />
      </div>
    </Input.Wrapper>
  )
}

/** Kept in this browser, and nobody else's business. */
export function Personal() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const zone = useZone()
  const keys = usePreference('keys')
  const density = usePreference('density')
  return (
    <Panel title="Your console, in this browser">
      <Group className="inside" gap="xl" align="start">
        <Choice
          label="Theme"
          value={colorScheme}
          choices={[
            ['auto', 'as the system'],
            ['light', 'light'],
            ['dark', 'dark'],
          ]}
          choose={(value) => setColorScheme(value as 'auto' | 'light' | 'dark')}
        />
        <Choice
          label="Times"
          value={zone}
          choices={[
            ['local', 'local'],
            ['utc', 'UTC'],
          ]}
          choose={(value) => setZone(value as 'local' | 'utc')}
        />
        <Choice
          label="Lines of tables"
          value={density}
          choices={[
            ['close', 'close'],
            ['wide', 'wide'],
          ]}
          choose={(value) => setPreference('density', value as 'close' | 'wide')}
        />
        <Choice
          label="Keys of one letter"
          value={keys}
          choices={[
            ['on', 'on'],
            ['off', 'off'],
          ]}
          choose={(value) => setPreference('keys', value as 'on' | 'off')}
        />
      </Group>
    </Panel>
  )
}
