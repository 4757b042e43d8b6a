import { Button } from '@mantine/core'
import type { ErrorComponentProps } from '@tanstack/react-router'
import { Blank, Trouble } from '../parts/blank.tsx'

/** A screen that broke leaves the frame, and the way out of it, standing. */
export function BrokenScreen({ error, reset }: ErrorComponentProps) {
  return <Trouble error={error} retry={reset} />
}

export function NoSuchScreen() {
  return (
    <Blank
      title="There is no such page"
      action={
        <Button component="a" href="/" variant="default">
          To the overview
        </Button>
      }
    >
      The address may have been cut short, or be of another version.
    </Blank>
  )
}
