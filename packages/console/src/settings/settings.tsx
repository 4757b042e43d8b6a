import { Stack, Title } from '@mantine/core'
import { About } from './about.tsx'
import { Personal } from './personal.tsx'
import { TenantSettings } from './tenant-settings.tsx'

/** How the tenant is set up, and how somebody likes their own console. */
export function Settings() {
  return (
    <Stack gap="md">
      <Title order={1}>Settings</Title>
      <TenantSettings />
      <Personal />
      <About />
    </Stack>
  )
}
