/** The pages without a session: the login with a token, also after the end of a session, and an operator that does not answer. */
import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon } from './parts/icons.tsx'
import { logIn, type SessionState, toMessage } from './session.ts'

type LoginReason = Extract<SessionState, { type: 'login' }>['reason']

const headings: Readonly<Record<LoginReason, string>> = {
  first: 'Log in to the dashboard',
  expired: 'Your session has ended',
  'logged-out': 'You are logged out',
  code: 'This login address is not valid',
}

const explanations: Readonly<Record<LoginReason, string>> = {
  first: '',
  expired:
    'The session ends 15 minutes after the last request, or when the token is revoked. Log in to continue where you were.',
  'logged-out': '',
  code: 'The code in the address is used or too old. The operator prints a new one at its start; in kopf dev, press o.',
}

export function Login(props: { readonly reason: LoginReason; readonly message: string | undefined }): JSX.Element {
  const { reason, message } = props
  const [problem, setProblem] = useState(message)
  const [isBusy, setBusy] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const ids = { token: useId(), hint: useId(), problem: useId() }
  useEffect(() => {
    document.title = `${headings[reason]} – kopf`
    input.current!.focus()
  }, [reason])

  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      await logIn({ token: input.current!.value.trim() })
    } catch (error) {
      setProblem(toMessage(error))
      setBusy(false)
      input.current!.select()
    }
  }

  return (
    <main class="login">
      <form class="panel" onSubmit={submit}>
        <p class="brand">
          <Brand /> kopf
        </p>
        <h1>{headings[reason]}</h1>
        {explanations[reason] !== '' && <p>{explanations[reason]}</p>}
        <label for={ids.token}>Bearer token</label>
        <input
          ref={input}
          id={ids.token}
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby={`${ids.problem} ${ids.hint}`}
          aria-invalid={problem !== undefined}
        />
        <p id={ids.problem} class="form-problem" role="alert">
          {problem !== undefined && (
            <>
              <Icon name="failed" /> {problem}
            </>
          )}
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Logging in …' : 'Log in'}
        </button>
        <p id={ids.hint} class="muted">
          The cluster checks the token, for example one of <code>kubectl create token &lt;service account&gt;</code>.
          You see the objects that its user may see. The page does not store the token.
        </p>
      </form>
    </main>
  )
}

export function Unreachable(): JSX.Element {
  useEffect(() => {
    document.title = 'No answer – kopf'
  }, [])
  return (
    <main class="login">
      <div class="panel" role="status">
        <p class="brand">
          <Brand /> kopf
        </p>
        <h1>
          <Icon name="gone" /> The operator does not answer
        </h1>
        <p>The page tries again every 2 seconds. If the operator has ended, start it again.</p>
      </div>
    </main>
  )
}

export function Brand(): JSX.Element {
  return (
    <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M10 7v18M22 8l-11 9 11 8" />
    </svg>
  )
}
