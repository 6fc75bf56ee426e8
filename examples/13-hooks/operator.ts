import { Operator } from 'kopf'

/** Stands for a connection to a service outside the cluster. */
class Connection {
  #isOpen = false

  open() {
    this.#isOpen = true
  }
  greet(name: string) {
    if (!this.#isOpen) throw new Error('The connection is closed')
    return `hello, ${name}`
  }
  close() {
    this.#isOpen = false
  }
}

/** The memo of every object is a shallow copy of this memo, so all handlers share the connection. */
const kopf = new Operator({ memo: () => ({ connection: new Connection() }) })

kopf.on.startup(({ settings, memo, logger }) => {
  settings.execution.defaultBackoff = '15s'
  settings.persistence.finalizer = 'example.com/finalizer'
  memo.connection.open()
  logger.info('Connected')
})

kopf.on.create('kopfexamples', ({ name, memo }) => ({ message: memo.connection.greet(name) }))

kopf.on.delete('kopfexamples', ({ logger }) => logger.info('Cleaned up'))

kopf.on.cleanup(({ memo, logger }) => {
  memo.connection.close()
  logger.info('Disconnected')
})

export default kopf
