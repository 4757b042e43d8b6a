import { TextInput } from '@mantine/core'

interface TypedNameProps {
  wanted: string
  value: string
  onChange: (value: string) => void
}

/** Before what cannot be taken back: whoever does it names what they do it to. */
export function TypedName({ wanted, value, onChange }: TypedNameProps) {
  return (
    <TextInput
      mt="sm"
      label={
        <>
          Type <span className="mono">{wanted}</span> to go on
        </>
      }
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
