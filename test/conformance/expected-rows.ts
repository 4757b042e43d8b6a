/**
 * What the life of `rows.ts` leaves behind: each table with its columns, and in it each row with every column that is not
 * null. `#7` is the seventh id that the bench made, `now` a time within the run, `+10m` ten minutes later.
 */
export const EXPECTED_ROWS = `accounts: breaker channel created_at id name on_unknown pace parked_retry_after_ms priority provider removed_at retry sealed_secrets secret_names settings status status_reason tenant_id updated_at
  breaker={"failures":5,"resetAfterMs":30000} channel=email created_at=now id=#130 name=account-131 on_unknown=resend priority=0 provider=sandbox secret_names=[] settings={} status=active tenant_id=tenant-1 updated_at=now
  breaker={"failures":5,"resetAfterMs":30000} channel=email created_at=now id=#2 name=account-3 on_unknown=resend priority=0 provider=sandbox secret_names=[] settings={} status=active tenant_id=tenant-1 updated_at=now
  breaker={"failures":5,"resetAfterMs":30000} channel=email created_at=now id=#4 name=account-5 on_unknown=resend priority=0 provider=sandbox secret_names=[] settings={} status=active tenant_id=tenant-1 updated_at=now
  breaker={"failures":5,"resetAfterMs":30000} channel=email created_at=now id=#91 name=account-92 on_unknown=resend priority=0 provider=sandbox secret_names=[] settings={} status=suspended status_reason="bill unpaid" tenant_id=tenant-1 updated_at=now
  breaker={"failures":5,"resetAfterMs":30000} channel=sms created_at=now id=#6 name=account-7 on_unknown=resend priority=0 provider=sandbox secret_names=[] settings={} status=active tenant_id=tenant-1 updated_at=now
attempts: account_id answer audit_id code duration_ms error late notification_id number outcome possible_duplicate provider provider_message_id reason refused resolved_targets started_at tenant_id to_status token worker_id
  account_id=#130 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#132 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#130 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#134 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#130 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#136 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#103 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#103 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#105 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#105 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#12 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#12 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#21 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#21 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#23 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#23 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#53 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#53 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#57 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#57 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#59 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#59 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#65 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#65 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#67 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#67 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#83 number=2 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#83 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#85 number=2 outcome=accepted possible_duplicate=1 provider=sandbox provider_message_id=accepted-#85 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#87 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#87 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 answer="250 taken" audit_id duration_ms=7 late=0 notification_id=#33 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#33 refused=[{"recipient":"bob@example.test","error":"550 no such user"}] resolved_targets=["ada@example.test","bob@example.test"] started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 audit_id code=503 duration_ms=12 error="try again" late=0 notification_id=#35 number=1 outcome=transient possible_duplicate=1 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id code=503 duration_ms=7 error="try again" late=0 notification_id=#39 number=1 outcome=transient possible_duplicate=0 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id code=503 duration_ms=7 error="try again" late=0 notification_id=#55 number=1 outcome=transient possible_duplicate=1 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id code=503 duration_ms=7 error="try again" late=0 notification_id=#75 number=1 outcome=transient possible_duplicate=0 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id code=503 duration_ms=7 error="try again" late=0 notification_id=#77 number=1 outcome=transient possible_duplicate=0 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#41 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#2 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#49 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=fallback_triggered:sms started_at=now tenant_id=tenant-1 to_status=failed token worker_id=#8
  account_id=#2 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#69 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#2 audit_id code=550 duration_ms=7 error="no such user" late=0 notification_id=#83 number=1 outcome=permanent possible_duplicate=0 provider=sandbox reason=invalid_recipient started_at=now tenant_id=tenant-1 to_status=parked token worker_id=#8
  account_id=#2 audit_id code=timeout duration_ms=7 error="no answer" late=0 notification_id=#43 number=1 outcome=unknown possible_duplicate=1 provider=sandbox reason=outcome_unknown started_at=now tenant_id=tenant-1 to_status=uncertain token worker_id=#8
  account_id=#2 audit_id code=timeout duration_ms=7 error="no answer" late=0 notification_id=#61 number=1 outcome=unknown possible_duplicate=1 provider=sandbox reason=outcome_unknown started_at=now tenant_id=tenant-1 to_status=uncertain token worker_id=#8
  account_id=#2 audit_id code=timeout duration_ms=7 error="no answer" late=0 notification_id=#71 number=1 outcome=unknown possible_duplicate=1 provider=sandbox reason=outcome_unknown started_at=now tenant_id=tenant-1 to_status=uncertain token worker_id=#8
  account_id=#2 audit_id code=timeout duration_ms=7 error="no answer" late=0 notification_id=#73 number=1 outcome=unknown possible_duplicate=1 provider=sandbox reason=outcome_unknown started_at=now tenant_id=tenant-1 to_status=uncertain token worker_id=#8
  account_id=#2 audit_id code=timeout duration_ms=7 error="no answer" late=0 notification_id=#85 number=1 outcome=unknown possible_duplicate=1 provider=sandbox reason=outcome_unknown started_at=now tenant_id=tenant-1 to_status=uncertain token worker_id=#8
  account_id=#2 audit_id code=worker_gone duration_ms=7 error="nobody knows" late=0 notification_id=#99 number=1 outcome=unknown possible_duplicate=1 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
  account_id=#2 audit_id duration_ms=7 late=0 notification_id=#51 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#51 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#2 audit_id duration_ms=7 late=1 notification_id=#55 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#55 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#6 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#47 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#47 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#6 answer="200 {\\"id\\":\\"x\\"}" audit_id duration_ms=7 late=0 notification_id=#63 number=1 outcome=accepted possible_duplicate=0 provider=sandbox provider_message_id=accepted-#63 started_at=now tenant_id=tenant-1 to_status=sent token worker_id=#8
  account_id=#91 audit_id code=503 duration_ms=7 error="try again" late=0 notification_id=#93 number=1 outcome=transient possible_duplicate=0 provider=sandbox started_at=now tenant_id=tenant-1 to_status=retrying token worker_id=#8
audit: action actor after at attempt before digest duration_ms from_status id note notification_id operation_id reason salt subject tenant_id to_status
  action=create actor=system after={"name":"tenant-1","defaultLocale":"en","timeZone":"UTC","settings":{}} at=now salt subject=tenant:tenant-1 tenant_id=tenant-1
  action=create actor=system after={"channel":"email","provider":"sandbox","name":"account-3","pace":null,"retry":null,"onUnknown":"resend","breaker":{"failures":5,"resetAfterMs":30000},"priority":0,"status":"active","settings":{},"secretNames":[]} at=now salt subject=account:#2 tenant_id=tenant-1
  action=create actor=system after={"channel":"email","provider":"sandbox","name":"account-5","pace":null,"retry":null,"onUnknown":"resend","breaker":{"failures":5,"resetAfterMs":30000},"priority":0,"status":"active","settings":{},"secretNames":[]} at=now salt subject=account:#4 tenant_id=tenant-1
  action=create actor=system after={"channel":"sms","provider":"sandbox","name":"account-7","pace":null,"retry":null,"onUnknown":"resend","breaker":{"failures":5,"resetAfterMs":30000},"priority":0,"status":"active","settings":{},"secretNames":[]} at=now salt subject=account:#6 tenant_id=tenant-1
  action=fail actor=system at=now from_status=pending reason=planning_failed subject=event:event-14 tenant_id=tenant-1 to_status=failed
  action=replay actor=key:ada at=now from_status=failed subject=event:event-14 tenant_id=tenant-1 to_status=pending
  action=fail actor=system at=now from_status=pending reason=planning_failed subject=event:event-14 tenant_id=tenant-1 to_status=failed
  action=fail actor=system at=now from_status=pending reason=no_recipient subject=schedule:#16 tenant_id=tenant-1 to_status=failed
  action=replay actor=key:ada at=now from_status=failed subject=schedule:#16 tenant_id=tenant-1 to_status=pending
  action=cancel actor=system at=now from_status=pending reason=cancelled_by_host subject=schedule:#16 tenant_id=tenant-1 to_status=cancelled
  action=approve actor=key:ada at=now from_status=awaiting_approval subject=schedule:#17 tenant_id=tenant-1 to_status=pending
  action=reject actor=key:ada at=now from_status=awaiting_approval note="too dear" reason=rejected_by_operator salt subject=schedule:#18 tenant_id=tenant-1 to_status=cancelled
  action=cancel actor=system at=now from_status=pending reason=cancelled_by_event subject=schedule:#19 tenant_id=tenant-1 to_status=cancelled
  action=cancel actor=system at=now attempt=0 from_status=queued notification_id=#29 reason=cancelled_by_event tenant_id=tenant-1 to_status=cancelled
  action=retry actor=system at=now attempt=1 from_status=sending notification_id=#37 tenant_id=tenant-1 to_status=retrying
  action=move actor=system at=now attempt=1 notification_id=#39 reason="account:#2 → account:#4" tenant_id=tenant-1
  action=cancel actor=system at=now attempt=1 from_status=sending notification_id=#45 reason=expired tenant_id=tenant-1 to_status=cancelled
  action=read actor=system at=now attempt=1 from_status=sent notification_id=#57 tenant_id=tenant-1 to_status=read
  action=fail actor=system at=now attempt=1 from_status=sent notification_id=#59 reason=fallback_triggered:sms tenant_id=tenant-1 to_status=failed
  action=send actor=system at=now attempt=1 from_status=uncertain notification_id=#61 tenant_id=tenant-1 to_status=sent
  action=deliver actor=system at=now attempt=1 from_status=sent notification_id=#65 tenant_id=tenant-1 to_status=delivered
  action=park actor=system at=now attempt=1 from_status=sent notification_id=#67 reason=complained tenant_id=tenant-1 to_status=parked
  action=discard actor=key:ada at=now attempt=1 from_status=parked notification_id=#69 reason=discarded_by_operator tenant_id=tenant-1 to_status=discarded
  action=discard actor=key:ada at=now attempt=1 from_status=uncertain note="told by telephone" notification_id=#71 reason=discarded_by_operator salt tenant_id=tenant-1 to_status=discarded
  action=restore actor=key:ada at=now attempt=1 from_status=discarded notification_id=#71 reason=restored_by_operator tenant_id=tenant-1 to_status=parked
  action=park actor=key:ada at=now attempt=1 from_status=uncertain notification_id=#73 reason=parked_by_operator tenant_id=tenant-1 to_status=parked
  action=cancel actor=key:ada at=now attempt=1 from_status=retrying notification_id=#75 reason=cancelled_by_operator tenant_id=tenant-1 to_status=cancelled
  action=park actor=key:ada at=now attempt=1 from_status=retrying notification_id=#77 reason=parked_by_operator tenant_id=tenant-1 to_status=parked
  action=cancel actor=key:ada at=now attempt=0 from_status=queued notification_id=#79 reason=cancelled_by_operator tenant_id=tenant-1 to_status=cancelled
  action=park actor=key:ada at=now attempt=0 from_status=queued notification_id=#81 reason=parked_by_operator tenant_id=tenant-1 to_status=parked
  action=retry actor=key:ada at=now attempt=1 from_status=parked notification_id=#83 reason=invalid_recipient tenant_id=tenant-1 to_status=queued
  action=retry actor=key:ada at=now attempt=1 from_status=uncertain notification_id=#85 reason=outcome_unknown tenant_id=tenant-1 to_status=queued
  action=retry actor=key:ada at=now attempt=0 from_status=parked notification_id=#87 reason=no_active_channels tenant_id=tenant-1 to_status=queued
  action=create actor=system after={"channel":"email","provider":"sandbox","name":"account-92","pace":null,"retry":null,"onUnknown":"resend","breaker":{"failures":5,"resetAfterMs":30000},"priority":0,"status":"active","settings":{},"secretNames":[]} at=now salt subject=account:#91 tenant_id=tenant-1
  action=suspend actor=key:ada at=now from_status=active reason="bill unpaid" subject=account:#91 tenant_id=tenant-1 to_status=suspended
  action=park actor=key:ada at=now attempt=0 from_status=queued notification_id=#95 reason=channel_suspended tenant_id=tenant-1 to_status=parked
  action=park actor=key:ada at=now attempt=1 from_status=retrying notification_id=#93 reason=channel_suspended tenant_id=tenant-1 to_status=parked
  action=park actor=key:ada at=now attempt=0 from_status=queued notification_id=#109 reason=parked_by_operator tenant_id=tenant-1 to_status=parked
  action=correct actor=key:ada at=now attempt=0 notification_id=#113 tenant_id=tenant-1 to_status=queued
  action=discard actor=key:ada at=now attempt=0 from_status=parked notification_id=#109 reason=corrected_by_operator tenant_id=tenant-1 to_status=discarded
  action=park actor=key:ada at=now attempt=0 from_status=queued notification_id=#111 reason=parked_by_operator tenant_id=tenant-1 to_status=parked
  action=retry actor=key:ada at=now attempt=0 from_status=parked notification_id=#111 reason=suppression_overridden tenant_id=tenant-1 to_status=queued
  action=resend actor=key:ada at=now attempt=0 note=lost notification_id=#115 salt tenant_id=tenant-1 to_status=queued
  action=fail actor=system at=now reason=no_recipient subject=schedule:#118 tenant_id=tenant-1 to_status=failed
  action=replay actor=key:ada at=now from_status=failed subject=schedule:#118 tenant_id=tenant-1 to_status=pending
  action=retry actor=system at=now attempt=0 from_status=skipped notification_id=#117 reason=no_address tenant_id=tenant-1 to_status=queued
  action=cancel actor=system at=now reason=cancelled_by_host subject=schedule:#127 tenant_id=tenant-1 to_status=cancelled
  action=create actor=system after={"channel":"email","provider":"sandbox","name":"account-131","pace":null,"retry":null,"onUnknown":"resend","breaker":{"failures":5,"resetAfterMs":30000},"priority":0,"status":"active","settings":{},"secretNames":[]} at=now salt subject=account:#130 tenant_id=tenant-1
  action=start actor=key:ada at=now from_status=preview note=mended operation_id=#138 salt subject=operation:#138 tenant_id=tenant-1 to_status=grace
  action=pause actor=key:ada at=now from_status=grace operation_id=#138 subject=operation:#138 tenant_id=tenant-1 to_status=paused
  action=resume actor=key:ada at=now from_status=paused operation_id=#138 subject=operation:#138 tenant_id=tenant-1 to_status=grace
  action=retry actor=key:ada at=now attempt=1 from_status=parked note=mended notification_id=#136 operation_id=#138 reason=invalid_recipient salt tenant_id=tenant-1 to_status=queued
  action=complete actor=system at=now from_status=running operation_id=#138 subject=operation:#138 tenant_id=tenant-1 to_status=done
cancellations: at entity_id entity_type event_type tenant_id
  at=now entity_id=7 entity_type=stay event_type=stay.reminder tenant_id=tenant-1
dispatch: attempt claimed_at in_doubt lane_id last_error notification_id possible_duplicate spent token visible_at worker_id
  attempt=0 in_doubt=0 lane_id=#2 notification_id=#107 possible_duplicate=0 spent=0 visible_at=+10m
  attempt=0 in_doubt=0 lane_id=#2 notification_id=#117 possible_duplicate=0 spent=0 visible_at=now
  attempt=0 in_doubt=0 lane_id=#6 notification_id=#111 possible_duplicate=0 spent=0 visible_at=now
  attempt=0 in_doubt=0 lane_id=#6 notification_id=#113 possible_duplicate=0 spent=0 visible_at=now
  attempt=0 in_doubt=0 lane_id=#6 notification_id=#115 possible_duplicate=0 spent=0 visible_at=now
  attempt=1 claimed_at=now in_doubt=1 lane_id=#2 notification_id=#101 possible_duplicate=0 spent=0 token visible_at=now worker_id=#8
  attempt=1 in_doubt=0 lane_id=#130 notification_id=#136 possible_duplicate=0 spent=0 visible_at=now
  attempt=1 in_doubt=0 lane_id=#2 last_error="nobody knows" notification_id=#99 possible_duplicate=1 spent=1 visible_at=+10m
  attempt=1 in_doubt=0 lane_id=#2 last_error="try again" notification_id=#35 possible_duplicate=1 spent=1 visible_at=+10m
  attempt=1 in_doubt=0 lane_id=#2 last_error="try again" notification_id=#37 possible_duplicate=0 spent=0 visible_at=+20m
  attempt=1 in_doubt=0 lane_id=#2 last_error="try again" notification_id=#55 possible_duplicate=1 spent=1 visible_at=+10m
  attempt=1 in_doubt=0 lane_id=#4 last_error="try again" notification_id=#39 possible_duplicate=0 spent=1 visible_at=+10m
events: attempt_count channels conversation correlation_id crashes created_at derived_from due_at entity_id entity_type id last_error locale next_attempt_at occurred_at payload published_at published_by recipients schema_version status tenant_id topic traceparent type
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-119 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.confirmed
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-122 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.confirmed
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-126 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.confirmed
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-14 last_error="still no such type" next_attempt_at=now payload={"guest":"Ada"} schema_version=1 status=failed tenant_id=tenant-1 type=booking.confirmed
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-20 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.reminder
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-25 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.reminder
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-26 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.offer
  attempt_count=1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-27 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=booking.offer
  attempt_count=1 crashes=0 created_at=now entity_id=7 entity_type=stay id=event-28 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=stay.reminder
  attempt_count=1 crashes=0 created_at=now entity_id=7 entity_type=stay id=event-32 next_attempt_at=now payload={"guest":"Ada"} published_at=now schema_version=1 status=published tenant_id=tenant-1 type=stay.cancelled
  attempt_count=2 correlation_id=c-1 crashes=0 created_at=now entity_id=42 entity_type=booking id=event-10 locale=de next_attempt_at=now payload={"guest":"Ada"} published_at=now recipients=[{"email":"ada@example.test"}] schema_version=1 status=published tenant_id=tenant-1 type=booking.confirmed
lanes: account_id breaker hold_reason hold_until refilled_at tokens
  account_id=#130 breaker=closed
  account_id=#2 breaker=closed refilled_at=now tokens=3
  account_id=#4 breaker=open hold_reason="slow down" hold_until=+20m
  account_id=#6 breaker=open hold_reason="the probe failed" hold_until=+10m
  account_id=#91 breaker=closed
notifications: account_id address attempts_before channel contact_id content conversation_id corrected_from corrected_to correlation_id created_at due_at duplicate_of entity_id entity_type event_id event_type execution_id expires_at fallback fallback_of fallback_to id idempotency_key is_scrubbed locale overrides_suppression parent_execution_id place policy provider recipient schedule_id site template_id template_version tenant_id traceparent triggered_by wanted_at warnings
  account_id=#130 address=ada@example.test attempts_before=1 channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#136 idempotency_key=key-137 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#130 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#132 idempotency_key=key-133 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#130 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#134 idempotency_key=key-135 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test attempts_before=1 channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#83 idempotency_key=key-84 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test attempts_before=1 channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#85 idempotency_key=key-86 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"sealed":"v1:waiting"} created_at=now due_at=+10m id=#107 idempotency_key=key-108 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now entity_id=42 entity_type=booking event_id=event-10 event_type=booking.confirmed id=#12 idempotency_key=key-13 is_scrubbed=0 locale=de provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now entity_id=7 entity_type=stay event_type=stay.reminder id=#29 idempotency_key=key-30 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now fallback_to=#47 id=#49 idempotency_key=key-50 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now fallback_to=#63 id=#59 idempotency_key=key-60 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#101 idempotency_key=key-102 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#103 idempotency_key=key-104 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#21 idempotency_key=key-22 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#23 idempotency_key=key-24 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#33 idempotency_key=key-34 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#35 idempotency_key=key-36 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#37 idempotency_key=key-38 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#41 idempotency_key=key-42 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#43 idempotency_key=key-44 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#45 idempotency_key=key-46 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#51 idempotency_key=key-52 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#53 idempotency_key=key-54 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#55 idempotency_key=key-56 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#57 idempotency_key=key-58 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#61 idempotency_key=key-62 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#65 idempotency_key=key-66 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#67 idempotency_key=key-68 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#69 idempotency_key=key-70 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#71 idempotency_key=key-72 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#73 idempotency_key=key-74 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#75 idempotency_key=key-76 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#77 idempotency_key=key-78 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#79 idempotency_key=key-80 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#81 idempotency_key=key-82 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#99 idempotency_key=key-100 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"x","data":{}} created_at=now event_id=event-119 id=#117 idempotency_key=told-once is_scrubbed=0 place=0 provider=sandbox recipient={"email":"ada@example.test"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email content={"subject":null,"body":"x","data":{}} created_at=now id=#87 idempotency_key=planned-anew is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test"} tenant_id=tenant-1 triggered_by=system
  account_id=#2 address=ada@example.test channel=email created_at=now id=#105 idempotency_key=key-106 is_scrubbed=1 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#4 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#39 idempotency_key=key-40 is_scrubbed=0 provider=other recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} corrected_from=#109 created_at=now id=#113 idempotency_key=key-114 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} corrected_to=#113 created_at=now id=#109 idempotency_key=key-110 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} created_at=now id=#111 idempotency_key=key-112 is_scrubbed=0 overrides_suppression=1 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} created_at=now id=#115 idempotency_key=key-116 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} created_at=now id=#47 idempotency_key=key-48 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#6 address=+4915112345678 channel=sms content={"subject":null,"body":"Hello","data":{}} created_at=now id=#63 idempotency_key=key-64 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#91 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#93 idempotency_key=key-94 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  account_id=#91 address=ada@example.test channel=email content={"subject":null,"body":"Hello","data":{}} created_at=now id=#95 idempotency_key=key-96 is_scrubbed=0 provider=sandbox recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  address=ada@example.test channel=email created_at=now duplicate_of=#117 event_id=event-122 id=#124 idempotency_key=skipped:event-122:email:0 is_scrubbed=0 place=0 recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  address=ada@example.test channel=email created_at=now event_id=event-126 id=#128 idempotency_key=skipped:event-126:email:0 is_scrubbed=0 place=0 recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
  address=ada@example.test channel=email created_at=now id=#89 idempotency_key=key-90 is_scrubbed=0 recipient={"email":"ada@example.test","phone":"+4915112345678"} tenant_id=tenant-1 triggered_by=system
operation_items: attempt notification_id operation_id outcome place result_id settled_at status why
  attempt=1 notification_id=#132 operation_id=#138 outcome=failed place=3 settled_at=now status=parked why="its address is suppressed"
  attempt=1 notification_id=#136 operation_id=#138 outcome=done place=1 settled_at=now status=parked
  attempt=2 notification_id=#134 operation_id=#138 outcome=left_alone place=2 settled_at=now status=parked why="it has moved, and is parked again"
operations: action begun_at canary canary_until created_at done ended_at expires_at failed grace_until id leased_until left_alone note options paused_from per_second position previewed_by problem started_at started_by status tenant_id total worked_at
  action=retry begun_at=now canary=0 created_at=now done=1 ended_at=now expires_at=+10m failed=1 grace_until=now id=#138 left_alone=1 note=mended options={"rerender":true} per_second=2.5 position=3 previewed_by=key:ada started_at=now started_by=key:ada status=done tenant_id=tenant-1 total=3 worked_at=now
  action=retry canary=5 created_at=now done=0 expires_at=+10m failed=0 id=#139 left_alone=0 options={"rerender":true} position=0 previewed_by=key:ada status=preview tenant_id=tenant-1
receipts: at code error id kind notification_id provider provider_message_id received_at recipient tenant_id
  at=2026-01-01T00:00:03.000Z kind=read notification_id=#57 provider=sandbox provider_message_id=accepted-#57 received_at=now recipient= tenant_id=tenant-1
  at=2026-01-01T00:00:00.000Z kind=delivered notification_id=#57 provider=sandbox provider_message_id=accepted-#57 received_at=now recipient= tenant_id=tenant-1
  at=2026-01-01T00:00:01.000Z code=550 error="mailbox unavailable" kind=bounced notification_id=#59 provider=sandbox provider_message_id=accepted-#59 received_at=now recipient= tenant_id=tenant-1
  at=2025-12-31T23:59:59.500Z code=550 error="mailbox unavailable" kind=failed notification_id=#59 provider=sandbox provider_message_id=accepted-#59 received_at=now recipient= tenant_id=tenant-1
  at=2025-12-31T23:59:59.000Z kind=sent notification_id=#61 provider=sandbox provider_message_id=accepted-#61 received_at=now recipient= tenant_id=tenant-1
  at=2025-12-31T23:59:59.500Z code=550 error="mailbox unavailable" kind=failed notification_id=#65 provider=sandbox provider_message_id=accepted-#65 received_at=now recipient=bob@example.test tenant_id=tenant-1
  at=2026-01-01T00:00:03.000Z kind=read notification_id=#65 provider=sandbox provider_message_id=accepted-#65 received_at=now recipient=ada@example.test tenant_id=tenant-1
  at=2026-01-01T00:00:02.000Z kind=complained notification_id=#67 provider=sandbox provider_message_id=accepted-#67 received_at=now recipient= tenant_id=tenant-1
rollup_counts: at_second counts dimension scope value width
  at_second=0 counts={"cancelled":1} dimension=eventType scope= value=stay.reminder width=0
  at_second=0 counts={"cancelled":1} dimension=eventType scope=tenant-1 value=stay.reminder width=0
  at_second=0 counts={"cancelled":3,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":13,"skipped":2,"uncertain":1} dimension=eventType scope= value= width=0
  at_second=0 counts={"cancelled":3,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":13,"skipped":2,"uncertain":1} dimension=eventType scope=tenant-1 value= width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":1,"failed":2,"live":7,"parked":6,"read":1,"sent":12,"uncertain":1} dimension=accountId scope= value=#2 width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":1,"failed":2,"live":7,"parked":6,"read":1,"sent":12,"uncertain":1} dimension=accountId scope=tenant-1 value=#2 width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":1,"failed":2,"live":9,"parked":11,"read":1,"sent":12,"skipped":2,"uncertain":1} dimension=channel scope= value=email width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":1,"failed":2,"live":9,"parked":11,"read":1,"sent":12,"skipped":2,"uncertain":1} dimension=channel scope=tenant-1 value=email width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":14,"skipped":2,"uncertain":1} dimension=site scope= value= width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":14,"skipped":2,"uncertain":1} dimension=site scope=tenant-1 value= width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":14,"skipped":2,"uncertain":1} dimension=tenantId scope= value=tenant-1 width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":14,"skipped":2,"uncertain":1} dimension=total scope= value= width=0
  at_second=0 counts={"cancelled":4,"delivered":1,"discarded":2,"failed":2,"live":12,"parked":11,"read":1,"sent":14,"skipped":2,"uncertain":1} dimension=total scope=tenant-1 value= width=0
  at_second=0 counts={"discarded":1,"live":3,"sent":2} dimension=accountId scope= value=#6 width=0
  at_second=0 counts={"discarded":1,"live":3,"sent":2} dimension=accountId scope=tenant-1 value=#6 width=0
  at_second=0 counts={"discarded":1,"live":3,"sent":2} dimension=channel scope= value=sms width=0
  at_second=0 counts={"discarded":1,"live":3,"sent":2} dimension=channel scope=tenant-1 value=sms width=0
  at_second=0 counts={"live":1,"parked":2} dimension=accountId scope= value=#130 width=0
  at_second=0 counts={"live":1,"parked":2} dimension=accountId scope=tenant-1 value=#130 width=0
  at_second=0 counts={"live":1} dimension=accountId scope= value=#4 width=0
  at_second=0 counts={"live":1} dimension=accountId scope=tenant-1 value=#4 width=0
  at_second=0 counts={"parked":1,"skipped":2} dimension=accountId scope= value= width=0
  at_second=0 counts={"parked":1,"skipped":2} dimension=accountId scope=tenant-1 value= width=0
  at_second=0 counts={"parked":2} dimension=accountId scope= value=#91 width=0
  at_second=0 counts={"parked":2} dimension=accountId scope=tenant-1 value=#91 width=0
  at_second=0 counts={"sent":1} dimension=eventType scope= value=booking.confirmed width=0
  at_second=0 counts={"sent":1} dimension=eventType scope=tenant-1 value=booking.confirmed width=0
rollup_state: is_counted rebuild_token rebuild_until
  is_counted=1
schedules: approved_at approved_by attempt_count completed_at crashes created_at due_at entity_id entity_type event_id event_type id is_replayed last_error next_attempt_at progress status tenant_id
  approved_at=now approved_by=key:ada attempt_count=0 crashes=0 created_at=now due_at=+10m entity_id=42 entity_type=booking event_id=event-26 event_type=booking.offer id=#17 is_replayed=0 next_attempt_at=+10m status=pending tenant_id=tenant-1
  attempt_count=0 crashes=0 created_at=now due_at=+10m entity_id=42 entity_type=booking event_id=event-27 event_type=booking.offer id=#18 is_replayed=0 last_error="too dear" status=cancelled tenant_id=tenant-1
  attempt_count=0 crashes=0 created_at=now due_at=+10m entity_id=7 entity_type=stay event_id=event-28 event_type=stay.reminder id=#19 is_replayed=0 last_error="The event \\"stay.cancelled\\" cancelled it" status=cancelled tenant_id=tenant-1
  attempt_count=0 crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-126 event_type=booking.confirmed id=#127 is_replayed=0 last_error="called off" status=cancelled tenant_id=tenant-1
  attempt_count=1 completed_at=now crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-10 event_type=booking.confirmed id=#11 is_replayed=0 status=completed tenant_id=tenant-1
  attempt_count=1 completed_at=now crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-119 event_type=booking.confirmed id=#118 is_replayed=1 status=completed tenant_id=tenant-1
  attempt_count=1 completed_at=now crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-122 event_type=booking.confirmed id=#123 is_replayed=0 status=completed tenant_id=tenant-1
  attempt_count=1 completed_at=now crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-20 event_type=booking.reminder id=#15 is_replayed=0 progress={"after":"1"} status=completed tenant_id=tenant-1
  attempt_count=1 completed_at=now crashes=0 created_at=now due_at=now entity_id=7 entity_type=stay event_id=event-32 event_type=stay.cancelled id=#31 is_replayed=0 status=completed tenant_id=tenant-1
  attempt_count=1 crashes=0 created_at=now due_at=now entity_id=42 entity_type=booking event_id=event-25 event_type=booking.reminder id=#16 is_replayed=1 last_error="the host said no" status=cancelled tenant_id=tenant-1
sealed_contents: event_id notification_id tenant_id
  notification_id=#107 tenant_id=tenant-1
settled: attempt code delivered_at fingerprint heard last_error notification_id possible_duplicate read_at reason settled_at spent status tenant_id
  attempt=0 fingerprint last_error="Notification #117 tells the same already" notification_id=#124 possible_duplicate=0 reason=duplicate settled_at=now spent=0 status=skipped tenant_id=tenant-1
  attempt=0 fingerprint last_error="The account is suspended" notification_id=#95 possible_duplicate=0 reason=channel_suspended settled_at=now spent=0 status=parked tenant_id=tenant-1
  attempt=0 fingerprint last_error="no address for email" notification_id=#128 possible_duplicate=0 reason=no_address settled_at=now spent=0 status=skipped tenant_id=tenant-1
  attempt=0 fingerprint last_error="the tenant has no active email account" notification_id=#89 possible_duplicate=0 reason=no_active_channels settled_at=now spent=0 status=parked tenant_id=tenant-1
  attempt=0 fingerprint notification_id=#109 possible_duplicate=0 reason=corrected_by_operator settled_at=now spent=0 status=discarded tenant_id=tenant-1
  attempt=0 fingerprint notification_id=#81 possible_duplicate=0 reason=parked_by_operator settled_at=now spent=0 status=parked tenant_id=tenant-1
  attempt=0 last_error="The event \\"stay.cancelled\\" cancelled it" notification_id=#29 possible_duplicate=0 reason=cancelled_by_event settled_at=now spent=0 status=cancelled tenant_id=tenant-1
  attempt=0 notification_id=#79 possible_duplicate=0 reason=cancelled_by_operator settled_at=now spent=0 status=cancelled tenant_id=tenant-1
  attempt=1 code=550 fingerprint heard=bounced last_error="mailbox unavailable" notification_id=#59 possible_duplicate=0 reason=fallback_triggered:sms settled_at=now spent=0 status=failed tenant_id=tenant-1
  attempt=1 code=550 fingerprint last_error="no such user" notification_id=#132 possible_duplicate=0 reason=invalid_recipient settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 code=550 fingerprint last_error="no such user" notification_id=#134 possible_duplicate=0 reason=invalid_recipient settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 code=550 fingerprint last_error="no such user" notification_id=#41 possible_duplicate=0 reason=invalid_recipient settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 code=550 fingerprint last_error="no such user" notification_id=#49 possible_duplicate=0 reason=fallback_triggered:sms settled_at=now spent=1 status=failed tenant_id=tenant-1
  attempt=1 code=550 fingerprint last_error="no such user" notification_id=#69 possible_duplicate=0 reason=discarded_by_operator settled_at=now spent=1 status=discarded tenant_id=tenant-1
  attempt=1 code=timeout fingerprint last_error="no answer" notification_id=#43 possible_duplicate=1 reason=outcome_unknown settled_at=now spent=1 status=uncertain tenant_id=tenant-1
  attempt=1 code=timeout fingerprint last_error="no answer" notification_id=#71 possible_duplicate=1 reason=restored_by_operator settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 delivered_at=2026-01-01T00:00:00.000Z heard=read notification_id=#57 possible_duplicate=0 read_at=2026-01-01T00:00:03.000Z settled_at=now spent=0 status=read tenant_id=tenant-1
  attempt=1 delivered_at=2026-01-01T00:00:03.000Z heard=delivered notification_id=#65 possible_duplicate=0 settled_at=now spent=0 status=delivered tenant_id=tenant-1
  attempt=1 fingerprint heard=complained last_error="The recipient reported the message as unwanted." notification_id=#67 possible_duplicate=0 reason=complained settled_at=now spent=0 status=parked tenant_id=tenant-1
  attempt=1 fingerprint last_error="The account is suspended" notification_id=#93 possible_duplicate=0 reason=channel_suspended settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 fingerprint last_error="no answer" notification_id=#73 possible_duplicate=1 reason=parked_by_operator settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 fingerprint last_error="try again" notification_id=#77 possible_duplicate=0 reason=parked_by_operator settled_at=now spent=1 status=parked tenant_id=tenant-1
  attempt=1 heard=sent notification_id=#61 possible_duplicate=1 settled_at=now spent=1 status=sent tenant_id=tenant-1
  attempt=1 last_error="it was not sent in time" notification_id=#45 possible_duplicate=0 reason=expired settled_at=now spent=0 status=cancelled tenant_id=tenant-1
  attempt=1 last_error="try again" notification_id=#75 possible_duplicate=0 reason=cancelled_by_operator settled_at=now spent=1 status=cancelled tenant_id=tenant-1
tenants: catalogue_version created_at default_locale entities id name settings time_zone
  catalogue_version=0 created_at=now default_locale=en entities={} id=tenant-1 name=tenant-1 settings={} time_zone=UTC
workers: beat_at channels host id in_flight pid started_at version
  beat_at=now host=host id=#8 in_flight=0 pid=9 started_at=now version=0.0.0`
