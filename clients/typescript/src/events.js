/** Events that wait to be read before new ones are lost. */
const QUEUE = 1024;
/** The events of a subscription, in order. */
export class EventQueue {
    onReturn;
    #events = [];
    #lost = 0;
    #isEnded = false;
    #waiting = [];
    constructor(onReturn) {
        this.onReturn = onReturn;
    }
    push(event) {
        const waiting = this.#waiting.shift();
        if (waiting)
            waiting({ value: event, done: false });
        else if (this.#events.length < QUEUE)
            this.#events.push(event);
        else
            this.#lost += event.type === 'lost' ? event.count : 1;
    }
    end() {
        this.#isEnded = true;
        for (const waiting of this.#waiting.splice(0))
            waiting({ value: undefined, done: true });
    }
    async next() {
        const event = this.#events.shift();
        if (event)
            return { value: event, done: false };
        if (this.#lost > 0) {
            const count = this.#lost;
            this.#lost = 0;
            return { value: { type: 'lost', count }, done: false };
        }
        if (this.#isEnded)
            return { value: undefined, done: true };
        return new Promise((resolve) => this.#waiting.push(resolve));
    }
    /** Ends the subscription, as leaving a `for await` does. */
    async return() {
        this.end();
        await this.onReturn();
        return { value: undefined, done: true };
    }
    [Symbol.asyncIterator]() {
        return this;
    }
}
