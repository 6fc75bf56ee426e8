import { Operator, TemporaryError } from 'kopf'
import { Pod } from 'kopf/kubernetes'

/** Stands for a connection to a service outside the cluster. */
class Connection {
  #isOpen = false

  open() {
    this.#isOpen = true
  }
  send(message: string) {
    if (!this.#isOpen) throw new Error('The connection is closed')
    return message
  }
  close() {
    this.#isOpen = false
  }
}

/** The memo of every object is a shallow copy of this memo, so all handlers share the connection. */
const kopf = new Operator({ memo: () => ({ connection: new Connection() }) })

/** Retried until it succeeds. The operator watches nothing before. */
kopf.on.startup(({ settings, memo, retry, logger }) => {
  if (retry === 0) throw new TemporaryError('The service does not answer yet', { delay: '1s' })
  settings.execution.defaultBackoff = '15s'
  memo.connection.open()
  logger.info('Connected')
})

/** A task for each pod. It ends with the pod or with the operator. */
kopf.daemon(Pod, { id: 'task', finalizer: false }, async ({ name, memo, stopped, logger }) => {
  logger.info(memo.connection.send(`Watching ${name}`))
  await stopped.wait()
  logger.info(memo.connection.send(`Stopped: ${stopped.reason}`))
})

/** Called when all tasks have ended: they can use the connection until then. */
kopf.on.cleanup(({ memo, logger }) => {
  memo.connection.close()
  logger.info('Disconnected')
})

export default kopf
