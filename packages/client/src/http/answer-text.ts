import { PillarboxConnectionError } from './problem.ts'

/** The text of an answer to `about`, read no further than it may be long: what claims to be the server may be anything else. */
export async function answerText(response: Response, about: string, maxBytes: number): Promise<string> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  // Leaving the loop ends the answer, however much of it is still to come.
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxBytes)
      throw new PillarboxConnectionError('unreadable', `${about}: the answer has more than ${maxBytes} bytes`, null)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
