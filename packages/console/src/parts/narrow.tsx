import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'

interface NarrowProps {
  label: string
  placeholder: string
  value: string | undefined
  narrow: (value: string | undefined) => void
  /** The field that `/` leads to. */
  isFirst?: boolean
  width?: number
}

/** A field that narrows a list by what is written in it, once that is entered or left. */
export function Narrow({ label, placeholder, value = '', narrow, isFirst = false, width = 200 }: NarrowProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const settle = (): void => {
    if (text.trim() !== value) narrow(text.trim() || undefined)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        settle()
      }}
    >
      <TextInput
        label={label}
        placeholder={placeholder}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={settle}
        w={width}
        maw="100%"
        {...(isFirst && { 'data-filter': '' })}
      />
    </form>
  )
}
