import type { HostEvent } from './types.js';
/** The events of a subscription, in order. */
export declare class EventQueue implements AsyncIterableIterator<HostEvent> {
    #private;
    private readonly onReturn;
    constructor(onReturn: () => Promise<void>);
    push(event: HostEvent): void;
    end(): void;
    next(): Promise<IteratorResult<HostEvent>>;
    /** Ends the subscription, as leaving a `for await` does. */
    return(): Promise<IteratorResult<HostEvent>>;
    [Symbol.asyncIterator](): this;
}
