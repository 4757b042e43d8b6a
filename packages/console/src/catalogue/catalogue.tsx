import { Title } from '@mantine/core'

export function CatalogueScreen() {
  return <Title order={1}>Catalogue</Title>
}
