import { Group, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core'
import type { BulkPreview } from '@pillarbox/client'
import type { Act } from '../parts/acts.ts'

/** How it is to be done, as it is typed. */
export interface HowForm {
  canary: number | string
  perSecond: number | string
  graceSeconds: number
  note: string
  typed: string
}

const CANARY = 5
const GRACES = [
  { value: '10', label: '10 seconds' },
  { value: '60', label: '1 minute' },
  { value: '600', label: '10 minutes' },
  { value: '3600', label: '1 hour' },
]

/** More messages than this are not sent by a slip of the hand. */
const MANY = 100

export function initialHow({ isSending }: Act): HowForm {
  return { canary: isSending ? CANARY : 0, perSecond: '', graceSeconds: 10, note: '', typed: '' }
}

export function howOf({ canary, perSecond, graceSeconds, note }: HowForm): object {
  return {
    grace: `PT${graceSeconds}S`,
    canary: Number(canary) || 0,
    ...(Number(perSecond) > 0 && { pace: { perSecond: Number(perSecond) } }),
    ...(note.trim() !== '' && { note: note.trim() }),
  }
}

export function mustTypeNumber({ isSending }: Act, { count }: BulkPreview): boolean {
  return isSending === true && count > MANY
}

interface HowProps {
  act: Act
  preview: BulkPreview
  how: HowForm
  change: (how: HowForm) => void
}

export function HowToDoIt({ act, preview, how, change }: HowProps) {
  const set = (changes: Partial<HowForm>): void => change({ ...how, ...changes })
  return (
    <>
      <Group gap="sm" align="end" mt="md">
        {act.isSending && (
          <NumberInput
            label="First try"
            description="the rest once these are sent"
            min={0}
            max={1_000}
            value={how.canary}
            onChange={(canary) => set({ canary })}
            w={180}
          />
        )}
        <NumberInput
          label="Pace, per second"
          description="empty: as fast as accounts take"
          min={0.01}
          max={100_000}
          value={how.perSecond}
          onChange={(perSecond) => set({ perSecond })}
          w={200}
        />
        <NativeSelect
          label="Begins after"
          description="until then it can be undone"
          data={GRACES}
          value={String(how.graceSeconds)}
          onChange={({ currentTarget }) => set({ graceSeconds: Number(currentTarget.value) })}
          w={180}
        />
      </Group>
      <Textarea
        mt="sm"
        label="Note"
        description="Why. It stays on record with your name."
        value={how.note}
        onChange={({ currentTarget }) => set({ note: currentTarget.value })}
        autosize
        minRows={1}
        maxLength={500}
        data-autofocus
      />
      {mustTypeNumber(act, preview) && (
        <TextInput
          mt="sm"
          label={`Type ${preview.count} to go on`}
          description={`So many people would get a message.`}
          inputMode="numeric"
          value={how.typed}
          onChange={({ currentTarget }) => set({ typed: currentTarget.value })}
          w={240}
        />
      )}
    </>
  )
}
