export interface ListMember {
  name: string | null
  email: string | null
  phone: string | null
}

export interface RecipientList {
  id: string
  tenantId: string
  name: string
  memberCount: number
  createdAt: number
  updatedAt: number
}
