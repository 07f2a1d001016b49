// What the page calls of Preact and htm, for the check of types.
export declare const html: (strings: TemplateStringsArray, ...values: any[]) => any;
export declare const render: (tree: any, element: Element) => void;
export declare const useEffect: (run: () => void | (() => void), on?: any[]) => void;
export declare const useLayoutEffect: (run: () => void | (() => void), on?: any[]) => void;
export declare const useMemo: <T>(make: () => T, on: any[]) => T;
export declare const useReducer: <S, E>(next: (state: S, event: E) => S, first: S) => [S, (event: E) => void];
export declare const useRef: <T>(first: T) => { current: T };
export declare const useState: <T>(first: T | (() => T)) => [T, (value: T | ((known: T) => T)) => void];
export declare const createRef: () => any;
export declare const Component: any;
