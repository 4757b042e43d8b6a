/** In whose name something is done by hand, and to whose rows. A request of the API is one. */
export interface Operator {
  tenantId: string
  /** Whom audit rows name, such as `key:<name>` or `cli`. */
  actor: string
}
